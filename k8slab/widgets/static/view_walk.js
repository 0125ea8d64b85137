// A packet's way: a column for each place, a row for each hop; the answer comes back below. On the right who to whom.
register("walk", { label: "Way", css: `.life{stroke:var(--line);stroke-width:2}
.way{fill:none;stroke:#D55E00;stroke-width:2.5}
.way.back{stroke-dasharray:6 4}
.hop{fill:#D55E00;stroke:var(--ink)}
.hop.end{stroke-width:3}
.hop.new{stroke-width:3}
.lost{fill:none;stroke:var(--ink);stroke-width:3.2}
.turn{stroke:var(--rule)}`, mount(host, ctx) {
  const say = (x, y, what, cls = "", anchor = "start") => s("text", { x, y, class: cls, "text-anchor": anchor }, what);
  const MOST = 17, SHAPE = { nat: "M0-8L8 0 0 8-8 0z", deliver: "M-7-7H7V7H-7z", shape: "M-6-7h12l-9 14h12z" }, DOT = "M-6 0a6 6 0 1 0 12 0a6 6 0 1 0-12 0z";
  return { update() {
    const S = ctx.state.walk, B = ctx.before.walk, W = ctx.width, thin = W < 560, cols = Object.values(S.columns);
    const all = Object.values(S.hops), n = all.length, seen = Object.keys(B.hops).length, from = Math.max(0, n - MOST), g = [], dots = [];
    const side = thin ? 0 : 226, cw = (W - side) / cols.length, X = (c) => (c + (thin ? .22 : .3)) * cw + (cols.length === 1 ? 20 : 0), rh = 26;
    const fit = (v, room) => (v.length * 7 > room ? v.slice(0, Math.max(1, Math.floor(room / 7) - 1)) + "\u2026" : v);
    let y = 48, last = null;
    const rows = all.slice(from).map((h2, k) => {
      if (h2.b && !all[from + k - 1]?.b && from + k) y += 16;
      const at = { ...h2, y, x: X(h2.c), k: from + k };
      y += rh;
      return at;
    });
    const H = Math.max(y, 48 + 16 + Math.min(MOST, S.rows) * rh) - 6;
    cols.forEach((c, k) => g.push(say(X(k), 14, fit(c, cw - 4), "b", k ? "middle" : "start"), s("line", { x1: X(k), x2: X(k), y1: 22, y2: H, class: "life" })));
    if (from) g.push(say(X(0) + 8, 34, `${from} hops before`, "mute"));
    for (const r of rows) {
      if (last) {
        g.push(s("path", { d: `M${last.x} ${last.y}C${last.x} ${last.y + rh * .7} ${r.x} ${r.y - rh * .7} ${r.x} ${r.y}`, class: "way" + (r.b ? " back" : "") }));
        if (r.b && !last.b) g.push(s("line", { x1: 0, x2: W, y1: r.y - 21, y2: r.y - 21, class: "turn" }), say(X(0) + 8, r.y - 25, "the answer", "mute"));
      }
      const hot = r.k >= seen ? " new" : "", full = `${r.w}${r.l && !r.l.startsWith(r.w) ? " " + r.l : ""}`, was = all[r.k - 1];
      const room = (r.c + 1 === cols.length ? W - side : X(r.c + 1) - 4) - r.x - 16, words = full.length * (hot ? 7.6 : 7) > room ? r.w : full;
      dots.push(r.w === "drop" ? s("path", { d: "M-7-7L7 7M7-7L-7 7", class: "lost", transform: `translate(${r.x} ${r.y})` })
        : s("path", { d: SHAPE[r.w] ?? DOT, class: "hop" + (r.w === "deliver" ? " end" : "") + hot, transform: `translate(${r.x} ${r.y})` }, s("title", null, `${r.w} ${r.l}`)));
      const text = say(r.x + 13, r.y + 4, words, hot ? "b" : "");
      dots.push(s("rect", { x: r.x + 10, y: r.y - 9, width: text.textContent.length * 7.2 + 4, height: 17, rx: 3, class: "pill" }), text);
      if (!thin && (!was || was.p !== r.p)) dots.push(say(W, r.y + 4, fit(r.p, side + 60), hot ? "b" : "mute", "end"));
      last = r;
    }
    if (thin && last) dots.push(say(0, H + 18, fit(last.p, W), "b"));
    host.replaceChildren(s("svg", { width: W, height: H + (thin ? 26 : 8), role: "img", "aria-label": `${n} hops: ${cols.join(", ")}` }, g, dots));
  } };
} });
