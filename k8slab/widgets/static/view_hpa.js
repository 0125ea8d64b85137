// Replicas: the load above; below it the count as steps, what the metrics asked for as dots, those in the window full.
register("hpa", { label: "Replicas", css: `.area{fill:var(--pane);stroke:var(--rule)}
.lost{fill:#D55E00;stroke:var(--ink)}
.band{fill:var(--hot)}
.count{fill:none;stroke:var(--ink);stroke-width:4.6;stroke-linejoin:round}
.count.in{stroke:#8C6D31;stroke-width:2.4}
.ready{fill:none;stroke:var(--ink);stroke-dasharray:2 3}
.dot{fill:var(--bg);stroke:var(--rule);stroke-width:1.4}
.dot.won{fill:#8C6D31;stroke:var(--ink)}
.dot.top{stroke-width:3}
.said{stroke:var(--ink);stroke-dasharray:6 4;stroke-width:1.5}
.base{stroke:var(--rule)}
.limit{stroke:var(--rule);stroke-dasharray:1 4}`, mount(host, ctx) {
  const say = (x, y, what, cls = "", anchor = "start") => s("text", { x, y, class: cls, "text-anchor": anchor }, what);
  const line = (x, y, x2, y2, cls) => s("line", { x1: x, y1: y, x2, y2, class: cls });
  const clock = (t) => { const c = Math.round(t / 1000); return `${Math.floor(c / 60)}:${String(c % 60).padStart(2, "0")}`; };
  return { update() {
    const S = ctx.state.hpa, W = ctx.width, thin = W < 560, at = Object.keys(S.rounds).map(Number).sort((a, b) => a - b);
    const L = 34, R = thin ? 48 : 66, top = 26, loadH = 62, y0 = top + loadH + 30, H = 210, base = y0 + H;
    if (!at.length) { host.replaceChildren(s("svg", { width: W, height: base + 40, role: "img", "aria-label": "no round yet" }, say(L, 40, "No round yet: step.", "mute"))); return; }
    // as much time as fits, the newest at the right
    const now = at[at.length - 1], gap = at[1] ? at[1] - at[0] : 15000, fits = Math.floor((W - L - R) / (thin ? 9 : 11)) * gap;
    const lo = Math.max(at[0] - gap, now - fits), hi = Math.max(now, lo + fits), X = (t) => L + ((t - lo) / (hi - lo)) * (W - L - R);
    const rounds = at.map((t) => [t, S.rounds[t]]), shown = rounds.filter(([t]) => t > lo), last = rounds[rounds.length - 1][1];
    const peak = Math.max(1, ...rounds.map(([, r]) => r.load)), most = Math.max(2, S.first, ...rounds.flatMap(([, r]) => [r.wants ?? 0, r.says ?? 0, r.replicas]));
    const Y = (n) => base - (n / most) * H, U = (n) => top + loadH - (n / peak) * loadH, g = [];
    // a staircase through [time, value]: each value holds from its round on
    const stairs = (pick, f, close) => {
      let before = rounds[rounds.length - shown.length - 1]?.[1], d = "", x = X(lo);
      const y = f(pick(before ?? shown[0][1], !before));
      d = `M${x} ${close ? close : y}` + (close ? `V${y}` : "");
      for (const [t, r] of shown) d += `H${X(t)}V${f(pick(r))}`;
      return d + (close ? `H${X(now) + 4}V${close}Z` : `H${X(now) + 4}`);
    };
    g.push(say(0, 12, "load", "b"), say(L + 4, 12, `most ${peak / 1000}`, "mute"),
      s("path", { d: stairs((r) => r.load, U, top + loadH), class: "area" }));
    if (shown.some(([, r]) => r.missed)) g.push(s("path", { d: stairs((r) => r.missed, U, top + loadH), class: "lost" }), say(W, 12, last.missed ? `${last.missed / 1000} missed` : "", "b", "end"));
    // the window: what is in it decides on the way down
    const from = Math.max(lo, now - S.window), old = now - S.window + S.edge, inside = rounds.filter(([t, r]) => t >= old && r.wants != null);
    g.push(s("rect", { x: X(from), y: y0 - 12, width: X(now) - X(from) + 5, height: H + 12, class: "band" }),
      say(0, y0 - 18, "replicas", "b"), say(X(now) + 4, y0 - 18, `window ${S.window / 1000} s`, "mute", X(now) > 150 ? "end" : "start"),
      line(L, base, W - R, base, "base"));
    for (const n of new Set([S.min, S.max, most])) if (n <= most) g.push(line(L, Y(n), W - R, Y(n), "limit"), say(L - 6, Y(n) + 4, n === S.min ? "min" : n === S.max ? "max" : n, "mute", "end"));
    for (const cls of ["count", "count in"]) g.push(s("path", { d: stairs((r, first) => (first ? S.first : r.replicas), Y), class: cls }));
    g.push(s("path", { d: stairs((r) => r.ready, Y), class: "ready" }));
    const best = Math.max(...inside.map(([, r]) => r.wants));
    shown.forEach(([t, r]) => {
      if (r.wants == null) return;
      const won = t >= old;
      g.push(s("circle", { cx: X(t), cy: Y(r.wants), r: 3.6, class: `dot${won ? " won" : ""}${won && r.wants === best ? " top" : ""}` },
        s("title", null, `${clock(t)}: the metrics ask for ${r.wants}`)));
    });
    if (last.says != null && last.says !== last.wants) g.push(line(X(from), Y(last.says), W - R, Y(last.says), "said"));
    // beside the newest round
    const x = W - R + 6, rows = [[last.replicas, `${last.replicas}`, "b"]];
    if (last.wants != null && last.wants !== last.replicas) rows.push([last.wants, thin ? `? ${last.wants}` : `wants ${last.wants}`, ""]);
    rows.sort((a, b) => b[0] - a[0]).reduce((y, [n, what, cls]) => { const z = Math.max(Y(n) + 4, y + 15); g.push(say(x, z, what, cls)); return z; }, 0);
    for (let t = Math.ceil((lo + 1) / 60000) * 60000, step = (thin ? 3 : 2) * 60000; t <= hi; t += 60000) if (t % step === 0) g.push(line(X(t), base, X(t), base + 4, "base"), say(X(t), base + 17, clock(t), "mute", "middle"));
    g.push(say(0, base + 36, thin ? "dots: asked for; full: in the window" : "dots: what the metrics asked for, full in the window; line: replicas; dotted: ready", "mute"));
    host.replaceChildren(s("svg", { width: W, height: base + 42, role: "img",
      "aria-label": `${clock(now)}: load ${last.load / 1000}, ${last.replicas} replicas, ${last.ready} ready, the metrics ask for ${last.wants ?? "nothing"}` }, g));
  } };
} });
