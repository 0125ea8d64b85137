// Keys and revisions: a row for each key, a column for each revision, a box for each put, a cross for each tombstone.
register("mvcc", { label: "Revisions", css: `.life{stroke:#E69F00;stroke-width:5}
.life.gone{stroke:var(--rule);stroke-width:1.5;stroke-dasharray:2 4}
.put{fill:#E69F00;stroke:var(--ink)}
.put.gone{fill:var(--bg);stroke:var(--rule);stroke-dasharray:3 3}
.put.chg{stroke-width:3}
.tomb{fill:none;stroke:var(--ink);stroke-width:2.6}
.tomb.chg{stroke-width:4}
.tomb.gone{stroke:var(--rule)}
svg .onf{fill:#14181e}
.past{fill:var(--pane)}
.edge2{stroke:var(--ink);stroke-width:2}
.cut2{stroke:var(--ink);stroke-width:3;stroke-dasharray:7 4}
.order input{flex:1;min-width:0;border:1px solid var(--rule);border-radius:6px;padding:3px 9px;font:inherit;color:inherit;background:var(--bg)}`, mount(host, ctx) {
  const ROWS = 6, pic = h("div");
  const text = h("input", { "aria-label": "An operation for the store", placeholder: "put a 1", onkeydown: (e) => {
    e.stopPropagation(); // the arrows and the space are for the text
    if (e.key === "Enter") run();
  } });
  const run = () => text.value.trim() && ctx.ask("do: " + text.value);
  const order = h("div", { class: "rdy order" }, "etcdctl", text, h("button", { onclick: run }, "do it"));
  host.replaceChildren(pic, order);
  const say = (x, y, what, cls = "", anchor = "middle") => s("text", { x, y, "text-anchor": anchor, class: cls }, what);
  const line = (x, y, p, q, cls) => s("line", { x1: x, y1: y, x2: p, y2: q, class: cls });
  return { update() {
    const S = ctx.state.mvcc, B = ctx.before.mvcc, { read, compacted } = S, W = ctx.width, thin = W < 560;
    // the keys that this step is about first, if there are too many
    const all = Object.keys(S.keys).sort(), hot = (k) => read?.found?.[k] || JSON.stringify(S.keys[k]) !== JSON.stringify(B.keys[k]);
    const some = [...all.filter(hot), ...all.filter((k) => !hot(k))].slice(0, ROWS), keys = all.filter((k) => some.includes(k));
    const L = thin ? 92 : 132, step = thin ? 33 : 40, room = Math.max(1, Math.floor((W - L - 34) / step)), rh = 38, top = 40;
    // the columns: up to the newest revision, or as far back as the read goes
    let lo = Math.max(1, S.revision + 1 - room);
    if (read?.at > 0 && read.at < lo) lo = read.at;
    const hi = Math.min(S.revision, lo + room - 1), X = (r) => L + (r - lo + .5) * step, H = top + Math.max(1, keys.length) * rh;
    const left = (r) => Math.max(L, X(r) - step / 2), g = [], end = X(hi) + step / 2;
    if (compacted >= lo) {
      const x = left(Math.min(compacted, hi + 1)), near = x - L < 110;
      g.push(s("rect", { x: L, y: 18, width: x - L, height: H - 18, class: "past" }), compacted <= hi && line(x, 18, x, H, "cut2"),
        say(near ? x : x - 4, 12, `compacted at ${compacted}${compacted > hi ? " \u2192" : ""}`, "", near ? "start" : "end"));
    }
    g.push(say(0, 33, "key", "mute", "start"), say(L - 8, 33, "revision", "mute", "end"));
    for (let r = lo; r <= hi; r++) g.push(say(X(r), 33, r, r === S.revision ? "b" : "mute"));
    if (hi === S.revision) g.push(line(end, 18, end, H, "edge2"), say(end + 4, 33, "now", "b", "start"));
    const at = read?.at, seen = read?.found ? at : S.revision;
    if (at >= lo && at <= hi) {
      g.push(line(X(at), 40, X(at), H, "cursor"), s("path", { d: `M${X(at) - 6} ${H + 9}l6-8 6 8z`, class: "tip" }),
        say(Math.max(L, X(at)), H + 22, `read at ${at}${read.refused ? ": refused" : ""}`, "b"));
    }
    keys.forEach((key, j) => {
      const y = top + j * rh + 14, cells = Object.entries(S.keys[key]).map(([r, c]) => [+r, c]), was = B.keys[key] ?? {};
      // the cell that is current at the revision read, or now
      const [, now] = cells.filter(([r]) => r <= seen).at(-1) ?? [], asked = read?.found?.[key];
      const value = now?.version ? `= ${now.value}` : now ? "deleted" : "not there yet";
      const fit = (v, n) => (v.length > n ? v.slice(0, n - 1) + "\u2026" : v), name = key.slice(thin ? -12 : -18);
      g.push(line(0, y + 24, W, y + 24, "lane"), say(0, y + 2, (name === key ? "" : "\u2026") + name, "b", "start"), say(0, y + 16, fit(value, thin ? 12 : 18), "mute", "start"));
      cells.forEach(([r, c], n) => {
        const next = cells[n + 1]?.[0] ?? S.revision + .5, gone = c.gone ? " gone" : "", from = left(r) + (r >= lo ? step / 2 : 0);
        if (c.version && next >= lo && r <= hi) g.push(line(from, y, Math.min(X(next), end), y, "life" + gone));
      });
      for (const [r, c] of cells) {
        if (r < lo || r > hi) continue;
        const x = X(r), cls = (c.gone ? " gone" : "") + (was[r] && was[r].gone === c.gone ? "" : " chg"), mute = c.gone ? "mute" : "";
        if (c.version) {
          g.push(s("rect", { x: x - 11, y: y - 11, width: 22, height: 20, rx: 3, class: "put" + cls }, s("title", null, c.value)),
            say(x, y + 4, c.version, c.gone ? "mute" : "b onf"), say(x, y + 20, fit(c.value, 5), "mute"));
        } else g.push(s("path", { d: `M${x - 6} ${y - 7}l12 12m0-12l-12 12`, class: "tomb" + cls }), say(x, y + 20, "del", mute));
        if (asked === r) g.push(s("rect", { x: x - 15, y: y - 15, width: 30, height: 28, rx: 5, class: "ring" }));
      }
    });
    if (all.length > keys.length) g.push(say(0, H + 22, `${all.length - keys.length} more keys`, "mute", "start"));
    else if (!at) g.push(say(0, H + 22, "number: version of the key; line: how long it was current", "mute", "start"));
    pic.replaceChildren(s("svg", { width: W, height: H + 28, role: "img", "aria-label": `${all.length} keys, revision ${S.revision}. As the text says.` }, g));
    order.hidden = !ctx.live;
  } };
} });
