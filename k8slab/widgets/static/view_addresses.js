// Addresses: a block for each node, a cell for each address, in it the Pod that has it; leaks are hatched.
register("addresses", { label: "Addresses", css: `.adr{stroke:var(--ink)}
.adr.free{fill:var(--bg);stroke:var(--rule);stroke-dasharray:3 3}
.adr.gateway{fill:var(--pane);stroke:var(--rule)}
.adr.held{fill:#D55E00}
.adr.leak,.adr.down{fill:url(#stale)}
.adr.twice{fill:var(--bg);stroke:#D55E00;stroke-width:2.5}
.edge2{fill:none;stroke:#D55E00;stroke-width:2}
.adr.new{stroke-width:3;stroke-dasharray:none}
.inc{fill:#14181e}
.lastm{fill:var(--ink)}
.off{fill:none;stroke:var(--ink);stroke-width:2.4}`, mount(host, ctx) {
  const say = (x, y, what, cls = "", anchor = "start") => s("text", { x, y, class: cls, "text-anchor": anchor }, what);
  // a long name keeps its beginning and its end, by which the Pods of one owner differ
  const wide = (v) => [...v].reduce((sum, c) => sum + (/[mw]/i.test(c) ? 12.6 : 7.4), 0);
  const fit = (v, room, n = 9) => (wide(v) <= room ? v : n > 1 && wide(v.slice(0, n) + "\u2026" + v.slice(-5)) > room ? fit(v, room, n - 1) : v.slice(0, n) + "\u2026" + v.slice(-5));
  const WORD = { free: "free", gateway: "gateway", held: "", leak: "leaked", down: "no power", twice: "" };
  return { update() {
    const S = ctx.state.addresses, B = ctx.before.addresses, W = ctx.width, thin = W < 560, g = [], told = [];
    const per = thin ? 4 : 7, gap = 5, cw = (W - gap * (per - 1)) / per, ch = 38, dark = ["held"];
    let y = 0;
    for (const [name, N] of Object.entries(S)) {
      const list = Object.entries(N.cells), of = (...w) => list.filter(([, c]) => w.includes(c.s)).length;
      const leaks = of("leak"), taken = of("held", "leak", "down", "twice"), twice = of("twice");
      const words = `${taken} of ${N.size} taken` + (leaks ? `, ${leaks} leaked` : "") + (twice ? `, ${twice} on two nodes` : "");
      told.push(`${name}: ${words}`);
      g.push(chip("net", 0, y + 1), say(24, y + 15, name, "b"), say(24 + name.length * 8 + 12, y + 15, thin ? "" : N.range, "mute"), say(W, y + 15, words, leaks || twice ? "b" : "mute", "end"));
      if (!N.on) g.push(s("path", { d: `M3 ${y + 4}l12 12m0-12l-12 12`, class: "off" }), thin ? "" : say(24 + name.length * 8 + 12 + N.range.length * 8, y + 15, "no power", "b"));
      y += 24;
      list.forEach(([ip, c], k) => {
        const x = (k % per) * (cw + gap), top = y + Math.floor(k / per) * (ch + 10), was = B[name]?.cells[ip];
        const hot = was && (was.s !== c.s || was.who !== c.who) ? " new" : "";
        const label = ip.slice(Math.max(ip.lastIndexOf(":"), ip.lastIndexOf("."))), cls = dark.includes(c.s) ? "inc" : "";
        g.push(s("rect", { x: x + 1, y: top + 1, width: cw - 2, height: ch - 2, rx: 4, class: `adr ${c.s}${hot}` }, s("title", null, `${ip} ${c.who || WORD[c.s]}`)),
          c.s === "twice" && s("rect", { x: x + 4, y: top + 4, width: cw - 8, height: ch - 8, rx: 2, class: "edge2" }),
          say(x + 8, top + 16, label, "b " + cls), say(x + 8, top + 31, fit(c.who || WORD[c.s], cw - 12), cls || (c.s === "free" ? "mute" : "")));
        if (ip === N.last) g.push(s("path", { d: `M${x + cw - 16} ${top + 7}h9l-4.5 7z`, class: "lastm" }, s("title", null, "the last one given")));
      });
      y += Math.ceil(list.length / per) * (ch + 10) + 10;
    }
    g.push(say(0, y + 8, thin ? "triangle: given last; hatched: nobody's" : "triangle: the one given last; hatched: leased, and no running sandbox has it", "mute"));
    const hatch = s("pattern", { id: "stale", width: 7, height: 7, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" },
      s("path", { d: "M0 0h7v7H0z", fill: "var(--bg)" }), s("line", { y2: 7, stroke: "var(--line)", "stroke-width": 4 }));
    host.replaceChildren(s("svg", { width: W, height: y + 16, role: "img", "aria-label": told.join("; ") }, s("defs", null, hatch), g));
  } };
} });
