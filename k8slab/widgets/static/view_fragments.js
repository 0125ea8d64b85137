// GPUs under several policies: a square for each, filled as far as it is used, dark as far as nobody can use the rest.
register("fragments", { label: "Fragments", css: `.used{fill:#56B4E9;stroke:var(--ink)}
.gpu{fill:var(--bg);stroke:var(--ink)}
.lost{fill:url(#no);stroke:none}
.bin{fill:none;stroke:var(--rule)}
.bin.new{stroke:var(--ink);stroke-width:2.5}
.sum{fill:var(--pane);stroke:var(--ink)}
.sum.free{fill:var(--bg)}`, mount(host, ctx) {
  const say = (x, y, what, cls = "", anchor = "start") => s("text", { x, y, "text-anchor": anchor, class: cls }, what);
  const whole = (n) => (n / 1000).toFixed(n % 1000 ? 1 : 0), CELL = 20, GAP = 4, MOST = 12;
  return { update() {
    const F = ctx.state.fragments, names = Object.keys(F), slim = ctx.width < 560, W = ctx.width, per = slim ? 1 : Math.min(names.length, 2);
    const cw = Math.floor((W - 16 * (per - 1)) / per), g = [], words = [];
    let y = 0;
    for (let at = 0; at < names.length; at += per) {
      const tops = names.slice(at, at + per).map((name, k) => {
        const P = F[name], x0 = k * (cw + 16), nodes = Object.entries(P.nodes), failed = Object.keys(P.failed);
        let x = x0, cy = y + 44;
        g.push(say(x0, y + 15, name, "b"), say(x0 + cw, y + 15, `${whole(P.free)} GPUs free, ${whole(P.lost)} of no use`, "", "end"),
          say(x0, y + 32, failed.length ? `no place for ${failed.slice(-2).join(", ")}${failed.length > 2 ? ` and ${failed.length - 2} more` : ""}` : "everything has a place", failed.length ? "b" : "mute"));
        words.push(`${name}: ${whole(P.free)} GPUs free, ${whole(P.lost)} of no use, ${failed.length} tasks without a place`);
        nodes.slice(0, MOST).forEach(([n, N]) => {
          const cells = Object.entries(N.gpus), wide = Math.max(cells.length * (CELL + 2) + 8, 64);
          if (x > x0 && x + wide > x0 + cw) { x = x0; cy += 56; }
          g.push(s("rect", { x: x + 1, y: cy, width: wide - 2, height: 48, rx: 5, class: `bin${N.new ? " new" : ""}` }, s("title", null, `${n}: ${N.cpu / 1000} CPU free`)),
            say(x + 5, cy + 15, n, N.new ? "b" : "mute"));
          cells.forEach(([i, G], j) => {
            const gx = x + 5 + j * (CELL + 2), used = (CELL * (1000 - G.left)) / 1000;
            g.push(s("rect", { x: gx, y: cy + 22, width: CELL, height: CELL, class: "gpu" }, s("title", null, `GPU ${i}: ${G.left / 10} % free, of no use to ${G.lost} % of the tasks to come`)),
              G.left && G.lost && s("rect", { x: gx, y: cy + 22, width: CELL, height: CELL - used, class: "lost", opacity: 0.15 + (0.85 * G.lost) / 100 }),
              used && s("rect", { x: gx, y: cy + 22 + CELL - used, width: CELL, height: used, class: "used" }));
          });
          if (!cells.length) g.push(say(x + 5, cy + 36, "no GPU", "mute"));
          x += wide + GAP;
        });
        if (nodes.length > MOST) g.push(say(x0, cy + 66, `${nodes.length - MOST} more nodes are not shown`, "mute"));
        return cy + (nodes.length > MOST ? 76 : 56);
      });
      y = Math.max(...tops) + 10;
    }
    host.replaceChildren(s("svg", { width: W, height: y, role: "img", "aria-label": words.join("; ") },
      s("defs", null, s("pattern", { id: "no", width: 5, height: 5, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" }, s("path", { d: "M0 0H5V5H0Z", fill: "var(--pane)" }), s("path", { d: "M0 0H2.5V5H0Z", fill: "var(--ink)" }))), g));
  } };
} });
