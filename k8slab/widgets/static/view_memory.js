// Memory of a node: one bar for all of it with the thresholds, then a row for each Pod in the order in which it would go.
register("memory", { label: "Memory", css: `.use{fill:#56B4E9;stroke:var(--ink)}
.use.over{stroke-width:3}
.use.changed{fill:#F0C04A}
.sys{fill:url(#own);stroke:var(--ink)}
.room{fill:none;stroke:var(--rule)}
.bound{stroke:var(--ink);stroke-width:2;stroke-dasharray:5 3}
.ask{stroke:var(--ink);stroke-width:3}
.cap{stroke:var(--ink);stroke-width:1.5}
svg .onf{fill:#14181e}
.gone{text-decoration:line-through}`, mount(host, ctx) {
  const say = (x, y, what, cls = "", anchor = "start") => s("text", { x, y, "text-anchor": anchor, class: cls }, what);
  const size = (mi) => (mi >= 1024 && mi % 1024 === 0 ? `${mi / 1024}Gi` : `${mi}Mi`);
  const fit = (text, room) => (text.length * 7 > room ? "\u2026" + text.slice(1 - Math.max(2, room / 7)) : text);
  return { update() {
    const M = ctx.state.memory, B = ctx.before.memory, W = ctx.width, thin = W < 560, names = Object.keys(M.pods), g = [];
    const place = (k) => M.pods[k].place || 99, order = [...names].sort((a, b) => place(a) - place(b));
    const total = Math.max(M.capacity, M.system + names.reduce((sum, k) => sum + M.pods[k].used, 0)), X = (mi) => (W - 2) * mi / total + 1;
    const short = (k) => k.replace("default/", ""), changed = (k) => B.pods[k].used !== M.pods[k].used || B.pods[k].state !== M.pods[k].state;
    g.push(say(0, 14, `${M.node}: ${size(M.free)} of ${size(M.capacity)} free`, "b"));
    if (M.pressure) g.push(say(W, 14, "MemoryPressure", "b", "end"));
    let at = 0;
    const lines = Object.values(M.bounds).map((mi) => X(M.capacity - mi));
    const part = (mi, cls, name) => {
      const w = X(at + mi) - X(at), ends = [X(at), ...lines, X(at + mi)].filter((x) => x >= X(at) && x <= X(at + mi)).sort((a, b) => a - b);
      const [room, x] = ends.map((x, n) => [(ends[n + 1] || x) - x, x]).sort((a, b) => b[0] - a[0])[0];
      g.push(s("rect", { x: X(at), y: 24, width: Math.max(0, w), height: 30, class: cls }, s("title", null, `${name}: ${size(mi)}`)));
      if (room > 40) g.push(say(x + room / 2, 44, fit(name, room - 6), cls === "sys" ? "" : "onf", "middle"));
      at += mi;
    };
    g.push(s("rect", { x: 1, y: 24, width: W - 2, height: 30, class: "room" }));
    if (M.system) part(M.system, "sys", "system");
    for (const k of [...order].reverse()) if (M.pods[k].used) part(M.pods[k].used, "use", short(k));
    Object.entries(M.bounds).sort((a, b) => b[1] - a[1]).forEach(([text, mi], n) => {
      const x = X(M.capacity - mi), y = 70 + 15 * n;
      g.push(s("line", { x1: x, x2: x, y1: 18, y2: y + 2, class: "bound" }), say(x - 5, y, thin ? text.replace("memory.available ", "free ") : text, "mute", "end"));
    });
    const top = 84 + 15 * Math.max(0, Object.keys(M.bounds).length - 1), L = thin ? 92 : 190, R = thin ? 74 : 150;
    const most = Math.max(1, ...names.map((k) => Math.max(M.pods[k].used, M.pods[k].request, M.pods[k].limit)));
    const Y = (mi) => L + (W - L - R) * mi / most;
    order.forEach((k, n) => {
      const P = M.pods[k], y = top + 26 * n, over = P.used > P.request, out = P.state === "evicted", ends = P.state === "ends";
      g.push(say(0, y + 15, out || ends ? "\u00d7" : P.place ? `${P.place}.` : "", "b"), say(18, y + 15, fit(short(k), L - 24), out ? "gone mute" : "b"));
      if (!thin) g.push(say(L - 6, y + 15, `priority ${P.priority}`, "mute", "end"));
      g.push(s("rect", { x: L, y: y + 2, width: Math.max(0, Y(P.used) - L), height: 18, class: `use${over ? " over" : ""}${changed(k) ? " changed" : ""}` }));
      if (P.limit) g.push(s("line", { x1: Y(P.limit), x2: Y(P.limit), y1: y + 2, y2: y + 20, class: "cap" }));
      g.push(s("line", { x1: Y(P.request), x2: Y(P.request), y1: y - 1, y2: y + 23, class: "ask" }));
      const word = out ? "evicted" : ends ? "evicted, ends" : P.state === "waits" ? "killed, waits" : thin ? size(P.used) : `${size(P.used)}, asks ${P.request ? size(P.request) : "nothing"}`;
      g.push(say(W, y + 15, word, over || out ? "b" : "", "end"));
    });
    const hatch = s("pattern", { id: "own", width: 6, height: 6, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" },
      s("rect", { width: 6, height: 6, fill: "var(--bg)" }), s("line", { y2: 6, stroke: "var(--rule)", "stroke-width": 3 }));
    host.replaceChildren(s("svg", { width: W, height: top + 26 * order.length + 4, role: "img",
      "aria-label": order.map((k) => `${short(k)}: ${size(M.pods[k].used)}, ${M.pods[k].state}`).join("; ") }, s("defs", null, hatch), g));
  } };
} });
