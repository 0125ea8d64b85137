// Raft: members in a ring with what is on its way between them, and their logs, a box for each entry.
register("raft", { label: "Raft", css: `.cut{stroke:#D55E00;stroke-width:2.5;stroke-dasharray:6 4}
.hit{stroke:transparent;stroke-width:16}
.bar{stroke:var(--ink);stroke-width:3}
.m,.e{fill:var(--bg);stroke:var(--ink)}
.leader,.done{fill:#E69F00}
.chg,.candidate,.pre-candidate{stroke-width:3}
.candidate{stroke-dasharray:8 4}
.pre-candidate{stroke-dasharray:2 4}
.dead{stroke:var(--rule);fill:var(--pane)}
svg .onf{fill:#14181e}
.bad{fill:none;stroke:#D55E00;stroke-width:2.5}
.c{text-anchor:middle}`, mount(host, ctx) {
  const pic = h("div"), what = h("select", { "aria-label": "Break or mend" });
  const act = (order) => ctx.live && ctx.ask("do: " + order);
  const deeds = h("div", { class: "rdy" }, what, h("button", { onclick: () => act(what.value) }, "do it"));
  host.replaceChildren(pic, deeds);
  const txt = (x, y, text, cls = "mute") => s("text", { x, y, class: cls }, text);
  const mid = (x, y, text, cls = "") => txt(x, y, text, "c " + cls);
  const path = (d, cls, more) => s("path", { d, class: cls, ...more });
  const box = (x, y, width, height, cls, kid) => s("rect", { x, y, width, height, rx: 3, class: cls }, kid);
  const { min, max, sin, cos } = Math, termOf = (entry) => entry?.split(" ")[0];
  return { update() {
    const { members: M, messages: F, cuts } = ctx.state.raft, B = ctx.before.raft, ids = Object.keys(M), n = ids.length;
    const W = ctx.width, thin = W < 560, cx = thin ? W / 2 : 153, st = ctx.steps[ctx.order[ctx.i]];
    const g = [], over = [], at = {}, ways = {}, r = n > 1 && 92;
    const dead = (id) => !("lead" in M[id]), todo = ids.map((id) => (dead(id) ? "restart " : "crash ") + id);
    ids.forEach((id, j) => (at[id] = [cx + sin(j * 6.283 / n) * r * 1.3, 126 - cos(j * 6.283 / n) * r]));
    // from a to b: how far, and the point so far on the way, `off` to its right
    const way = (a, b) => {
      const [x, y] = at[a], [p, q] = at[b], d = Math.hypot(p - x, q - y), u = (p - x) / d, v = (q - y) / d;
      return [d, (f, off) => [x + u * f - v * off, y + v * f + u * off]];
    };
    ids.forEach((a, j) => ids.slice(j + 1).forEach((b) => {
      const [d, k] = way(a, b), one = cuts[`${a}>${b}`], two = cuts[`${b}>${a}`], bar = (f) => path(`M${k(f, 7)}L${k(f, -7)}`, "bar");
      const line = `M${at[a]}L${at[b]}`, order = `${one || two ? "heal" : "cut"} ${a} ${b}`;
      todo.push(order);
      g.push(path(line, one || two ? "cut" : "lane"), one && bar(d - 36), two && bar(36), path(line, "hit", { onclick: () => act(order) }));
    }));
    // logs: below each other, the same index in the same column
    const lx = thin ? 0 : 318, top = thin ? 282 : 22, rh = max(31, min(44, 220 / n)), H = top + n * rh + 16;
    const last = (id) => max(M[id].first - 1, ...Object.keys(M[id].log)), hi = max(...ids.map(last));
    const lo = max(min(...ids.map((id) => M[id].first)), hi + 1 - Math.floor((W - lx - 118) / 26)), col = (e) => lx + 118 + (e - lo) * 26;
    g.push(txt(lx, top - 8, "index"), txt(lx, H - 4, "filled: committed; bar: applied; dashed: cut"));
    for (let e = lo; e <= hi; e++) g.push(mid(col(e) + 12, top - 8, e, "mute"));
    ids.forEach((id, j) => {
      const m = M[id], [x, y] = at[id], now = st.actor.endsWith("/" + id), leads = m.role === "leader", f = leads ? "onf" : "", Y = top + j * rh;
      const kind = dead(id) ? " dead" : "", was = B.members[id];
      g.push(s("g", { onclick: () => act(todo[j]) }, now && s("circle", { cx: x, cy: y, r: 23, class: "ring" }),
        s("circle", { cx: x, cy: y, r: 18, class: `m ${m.role}${kind}` }),
        leads && path(`M${x - 10} ${y - 18}l-2-13 6 5 6-8 6 8 6-5-2 13z`, "m leader"),
        kind && path(`M${x - 7} ${y - 33}l14 14m0-14l-14 14`, "bar"),
        mid(x, y + 4, id, `b ${f}`), m.role !== "follower" && mid(x, y + 36, m.role, "label")),
      now && box(lx - 4, Y - 1, W, rh - 2, "band on"), txt(lx, Y + 12, `${id} ${m.role}`, "b"),
      txt(lx, Y + 26, `term ${m.term}, ${m.vote ? "" : "no "}vote ${m.vote || ""}`));
      for (let e = lo; e <= last(id); e++) {
        const text = m.log[e], t = termOf(text), done = e <= m.committed;
        g.push(box(col(e), Y + 3, 23, 22, `e${done ? " done" : ""}${kind}${was && (was.log[e] !== text || done && was.committed < e) ? " chg" : ""}`,
          s("title", null, text)), mid(col(e) + 11.5, Y + 18, t ?? "\u00b7", done && !kind ? "onf" : ""),
        t && !done && ids.some((o) => (termOf(M[o].log[e]) ?? t) !== t) && box(col(e) - 2, Y + 1, 27, 26, "bad"));
      }
      g.push(m.applied >= lo && path(`M${col(m.applied) + 24.5} ${Y}v28`, "bar"));
    });
    // an arrow for each direction in which there are messages
    for (const [k, m] of Object.entries(F)) (ways[[m.from, m.to]] ??= []).push([m, !B.messages[k]]);
    for (const w of Object.values(ways)) {
      const m = w.at(-1)[0], hot = w.some((x) => x[1]), age = st.t - w[0][0].at, [d, k] = way(m.from, m.to);
      const text = m.type.slice(3) + (m.reject ? " no" : "") + (w[1] ? ` \u00d7${w.length}` : "") + (age > 4 ? ` ${age} ms` : ""), [x, y] = k(d * .42, 13), [p, q] = k(d - 48, 6);
      g.push(path(`M${k(22, 6)}L${k(d - 22, 6)}`, hot ? "now" : "cause anc", { "marker-end": "url(#tip)" }));
      over.push(m.count && [box(p - 9, q - 8, 18, 16, "e"), mid(p, q + 4, m.entry)], mid(x, y + 4, text, hot ? "label" : "label mute"));
    }
    pic.replaceChildren(s("svg", { width: W, height: max(258, H), role: "img",
      "aria-label": ids.map((id) => `node ${id} ${M[id].role}`).join(", ") }, s("defs", null, TIP()), g, over));
    deeds.hidden = !ctx.live;
    what.replaceChildren(...todo.map((o) => h("option", null, o)));
  } };
} });
