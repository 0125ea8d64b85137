// One visual language: role -> colour and glyph, kind -> mark; frames -> states; the register of pictures.
const s = (tag, attrs, ...kids) => fill(document.createElementNS("http://www.w3.org/2000/svg", tag), attrs, kids);
const ms = (t) => String(t).replace(/\B(?=(\d{3})+$)/g, "\u202f");
const isObj = (v) => v !== null && typeof v === "object";
const ROLES = {
  you: ["#F0E442", "M3 4l4 4-4 4M8.5 12.5H13"],
  api: ["#0072B2", "M8 2l5.2 3v6L8 14l-5.2-3V5z"],
  etcd: ["#E69F00", "M3.2 4.4C3.2 3 5.3 2.2 8 2.2s4.8.8 4.8 2.2S10.7 6.6 8 6.6 3.2 5.8 3.2 4.4v7.2c0 1.4 2.1 2.2 4.8 2.2s4.8-.8 4.8-2.2V4.4"],
  ctl: ["#009E73", "M12.8 8a4.8 4.8 0 1 1-1.6-3.6M12.8 1.8v3.4H9.4"],
  sched: ["#CC79A7", "M2.5 4h4M2.5 8h9M2.5 12h4M9 5.2L12.5 8 9 10.8"],
  node: ["#56B4E9", "M2.5 3h11v10h-11zM5.5 6h5v4h-5z"],
  net: ["#D55E00", "M2 6c2-3 4 3 6 0s4-3 6 0M2 11c2-3 4 3 6 0s4-3 6 0"],
  auto: ["#8C6D31", "M5 13V3M2.5 5.5L5 3l2.5 2.5M11 3v10M8.5 10.5L11 13l2.5-2.5"],
};
// kind -> shape around 0,0 and its word
const MARKS = {
  request: ["M-5-6L7 0-5 6z", "request"],
  write: ["M-5-6L7 0-5 6z", "write"],
  serve: ["M0-5.5L5.5 0 0 5.5-5.5 0z", "admit"],
  commit: ["M-5.5-5.5h11v11h-11z", "commit"],
  watch: ["M-6-5H6L0 6.5z", "watch event"],
  queue: ["M-2.5-6.5h5v13h-5z", "queue add"],
  work: ["M-6 0a6 6 0 1 0 12 0a6 6 0 1 0-12 0z", "work"],
  state: ["M-3-6h6l4 6-4 6h-6l-4-6z", "state"],
  wait: ["M-3 0a3 3 0 1 0 6 0a3 3 0 1 0-6 0z", "wait"],
};
const chip = (role, x, y) => s("g", { transform: `translate(${x} ${y})` },
  s("rect", { width: 18, height: 18, rx: 4, fill: ROLES[role][0], class: "edge" }),
  s("path", { d: ROLES[role][1], transform: "translate(1 1)", class: role === "api" ? "glyph w" : "glyph" }));
const mark = (kind, role, x = 0, y = 0) => s("path", {
  d: (MARKS[kind] ?? MARKS.work)[0], fill: ROLES[role][0], class: "mark", transform: `translate(${x} ${y})`,
});
const icon = (role, kind) =>
  s("svg", { width: 18, height: 18, viewBox: "-9 -9 18 18", "aria-hidden": "true" }, mark(kind, role));
const TIP = () => s("marker", {
  id: "tip", viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 9, markerHeight: 9, orient: "auto",
  markerUnits: "userSpaceOnUse",
}, s("path", { d: "M0 0L8 4 0 8z", class: "tip" }));

// an arrow's path: along the lane of the cause, then into the lane of its effect
const curve = (x1, y1, x2, y2) =>
  y1 !== y2 ? `M${x1 + 5} ${y1}H${Math.max(x1 + 5, x2 - 26)}C${x2 - 8} ${y1} ${x2 - 16} ${y2} ${x2 - 8} ${y2}`
    : x2 - x1 < 50 ? `M${x1 + 5} ${y1}H${Math.max(x1 + 6, x2 - 9)}`
      : `M${x1 + 5} ${y1 - 3}Q${(x1 + x2) / 2} ${y1 - 14} ${x2 - 7} ${y2 - 5}`;
// time without a step: a band over the rows, and how much of it (at its lower end or the upper one)
function gap(x, top, H, dt) {
  const text = s("text", { class: "mute" }, `${ms(dt)} ms pass`);
  const ground = s("rect", { x: -4, y: -12, height: 16, rx: 4, class: "pill" });
  const g = s("g", null, ground, text);
  return [x, s("rect", { x: x - 5, y: top, width: 22, height: H - top, class: "gap" }), g, (low) => {
    const n = text.getComputedTextLength();
    ground.setAttribute("width", n + 8);
    g.setAttribute("transform", `translate(${x + 10} ${low ? H - 8 : top + n + 7}) rotate(-90)`);
  }];
}
// the text node of a step, on a ground of its own
function putLabel(text, x, y, w) {
  text.setAttribute("x", x);
  text.before(s("rect", { x: x - 4, y: y - 10, width: w + 8, height: 20, rx: 4, class: "pill" }));
}
const laneHead = (role, label, y, height, x, width) => [
  s("rect", { y: y - height / 2, width, height, class: "band" }), s("g", { transform: `translate(${x - 34} ${y})` }),
  s("line", { x1: x, x2: width, y1: y, y2: y, class: "lane" }), chip(role, 2, y - 9), s("text", { x: 26, y: y + 4.5 }, label)];
const badge = (n, what, role) => s("rect", { x: 20 - n * 10, y: -4, width: 8, height: 8, rx: 1.5, class: "badge",
  fill: what === "fill" ? ROLES[role][0] : "none" });

// state0 and deltas -> one immutable state per step, which share what did not change
export function expand(trace) {
  let state = trace.state0;
  return trace.steps.map((step) => {
    for (const [path, ...v] of step.d ?? []) state = put(state, path, 0, v);
    return state;
  });
}
function put(node, path, k, v) {
  if (k === path.length) return v[0];
  const copy = Array.isArray(node) ? [...node] : { ...node };
  if (k === path.length - 1 && !v.length) delete copy[path[k]];
  else copy[path[k]] = put(node[path[k]], path, k + 1, v);
  return copy;
}

// list a in the order of b, item by item by what names it; what b no longer has comes last
const named = (v) => (isObj(v) ? v.type ?? v.name ?? v.uid ?? v.key : v);
function align(a, b) {
  const rest = [...a];
  const found = b.map((v) => {
    const n = rest.findIndex((w) => named(w) === named(v));
    return n < 0 ? undefined : rest.splice(n, 1)[0];
  });
  return [...found, ...rest];
}

// YAML lines of object b, each marked against what it was in a
function lines(a, b, depth, out, dash = "", at = "") {
  const arr = Array.isArray(b);
  if (arr && Array.isArray(a)) a = align(a, b);
  for (const key of new Set([...Object.keys(isObj(a) ? a : {}), ...Object.keys(b ?? {})])) {
    const gone = !(key in (b ?? {}));
    const v = gone ? a[key] : b[key];
    const old = isObj(a) && key in a ? a[key] : undefined;
    const st = gone ? "del" : old === undefined ? "add" : isObj(v) || v === old ? "" : "chg";
    const lead = arr ? "- " : `${key}: `;
    const path = at ? `${at}.${key}` : key;
    const line = { path, depth: depth - (dash ? 1 : 0), lead: dash + lead, st };
    if (isObj(v) && Object.keys(v).length) {
      const was = gone ? v : isObj(old) ? old : {};
      if (!arr) out.push(line);
      lines(was, gone ? {} : v, depth + 1, out, arr ? "- " : "", path);
    } else {
      line.val = isObj(v) ? (Array.isArray(v) ? "[]" : "{}") : String(v);
      if (st === "chg" && !isObj(old)) line.old = String(old);
      out.push(line);
    }
    dash = dash && "  ";
  }
  return out;
}

// register(name, { label, css?, mount(host, ctx) -> { update(), height? } })
const VIEWS = {};
export const register = (name, view) => (VIEWS[name] = view);
