// Spread: a column for each domain, a box for each Pod in it; lines at the emptiest domain and at maxSkew above it.
register("spread", { label: "Skew", css: `.pod{fill:#CC79A7;stroke:var(--ink)}
.pod.new{stroke-width:3}
.pod.terminating{fill:url(#away)}
.pod.other{fill:var(--bg);stroke:var(--rule);stroke-dasharray:3 3}
svg .onf{fill:#14181e}
.least{stroke:var(--ink);stroke-dasharray:6 4;stroke-width:1.5}
.most{stroke:var(--ink);stroke-width:3}
.wish{stroke-width:1.5}
.foot{stroke:var(--ink);stroke-width:1.5}`, mount(host, ctx) {
  const say = (x, y, what, cls = "", anchor = "middle") => s("text", { x, y, "text-anchor": anchor, class: cls }, what);
  const line = (x, y, to, cls) => s("line", { x1: x, y1: y, x2: to, y2: y, class: cls });
  const fit = (text, room) => (text.length * 7 > room ? "\u2026" + text.slice(1 - Math.max(2, room / 7)) : text);
  return { update() {
    const S = ctx.state.spread, B = ctx.before.spread, W = ctx.width, thin = W < 560, names = Object.keys(S.domains).sort();
    const pods = (d) => Object.entries(S.domains[d].pods), top = S.least + S.max, rank = { counted: 0, terminating: 1, other: 2 };
    const most = Math.max(top, 1, ...names.map((d) => pods(d).length)), bh = Math.min(26, 208 / most), foot = 34 + bh * most;
    const L = thin ? 76 : 156, step = (W - L - 6) / Math.max(1, names.length), cw = Math.min(130, step - 10), Y = (n) => foot - n * bh, g = [];
    names.forEach((d, j) => {
      const D = S.domains[d], x = L + j * step + (step - cw) / 2, mid = x + cw / 2, skew = D.count - S.least;
      pods(d).sort((a, b) => rank[a[1]] - rank[b[1]] || (a[0] < b[0] ? -1 : 1)).forEach(([pod, state], k) => {
        const fresh = B.domains[d]?.pods[pod] !== state ? " new" : "";
        g.push(s("rect", { x, y: Y(k + 1) + 1, width: cw, height: bh - 2, rx: 3, class: `pod ${state}${fresh}` }, s("title", null, `${pod}: ${state}`)));
        if (bh > 15) g.push(say(mid, Y(k) - bh / 2 + 4, fit(pod, cw), state === "counted" ? "onf" : ""));
      });
      g.push(line(x - 4, foot, x + cw + 4, "foot"), say(mid, foot + 16, fit(d, step), "b"),
        say(mid, foot + 31, D.counts ? `${D.count}, skew ${skew}` : thin ? "no domain" : "does not count", D.counts && skew > S.max ? "b" : "mute"));
    });
    g.push(line(0, Y(S.least), W, "least"), line(0, Y(top), W, S.hard ? "most" : "most wish"),
      say(0, Y(S.least) + 14, thin ? `least ${S.least}` : S.few ? "0: too few domains" : `emptiest: ${S.least}`, "mute", "start"),
      say(0, Y(top) - 6, thin ? `most ${top}` : S.hard ? `no Pod above ${top}` : `above ${top}: no refusal`, "b", "start"));
    if (!thin) g.push(say(0, foot + 31, `maxSkew ${S.max}, ${S.key.split("/").pop()}`, "mute", "start"));
    if (S.last.pod && S.last.domain == null) g.push(say(W, 12, `${S.last.pod} waits`, "b", "end"));
    const hatch = s("pattern", { id: "away", width: 6, height: 6, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" },
      s("rect", { width: 6, height: 6, fill: "var(--bg)" }), s("line", { y2: 6, stroke: "var(--rule)", "stroke-width": 3 }));
    host.replaceChildren(s("svg", { width: W, height: foot + 36, role: "img",
      "aria-label": names.map((d) => `${d}: ${S.domains[d].count}`).join(", ") }, s("defs", null, hatch), g));
  } };
} });
