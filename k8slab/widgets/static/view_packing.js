// Packing: a row for each group, a box for each node in it; Pods are stacked in two columns, CPU left, memory right.
register("packing", { label: "Packing", css: `.bin{fill:var(--bg);stroke:var(--rule);stroke-width:1.5}
.bin.asked{stroke:var(--ink);stroke-width:3}
.bin.stays{stroke:var(--ink)}
.bin.gone{stroke-dasharray:4 3;fill:var(--pane)}
.slice{fill:#8C6D31;stroke:var(--ink)}
.slice.new{fill:var(--hot);stroke-width:2}
.mid{stroke:var(--line)}
.over{text-decoration:line-through}
.pick{fill:var(--ink)}
.picked{fill:var(--bg);font-weight:650}`, mount(host, ctx) {
  const WORD = { no: "cannot help", asked: "is tried", option: "an option", out: "not chosen", chosen: "chosen" };
  const NODE = { asked: "?", stays: "stays", gone: "unneeded" };
  const say = (x, y, what, cls = "", anchor = "start") => s("text", { x, y, "text-anchor": anchor, class: cls }, what);
  const fit = (text, room) => (text.length * 6.6 > room ? text.slice(0, Math.max(3, room / 6.6 - 1)) + "\u2026" : text);
  const tail = (text, room) => (text.length * 6.6 > room ? "\u2026" + text.slice(-Math.max(2, room / 6.6 - 1)) : text);
  return { update() {
    const P = ctx.state.packing, B = ctx.before.packing, W = ctx.width, thin = W < 560, g = [], few = Object.keys(P.groups).length < 2;
    const bw = few ? (thin ? 62 : 84) : thin ? 38 : 48, bh = few ? 96 : 64, step = bw + (few ? 20 : 10), row = bh + (few ? 38 : 22), per = Math.max(1, Math.floor(W / step));
    let y = 14;
    const waits = Object.keys(P.wait).length;
    g.push(say(0, y, (few ? "" : `${waits} Pod${waits === 1 ? " waits" : "s wait"}. `) + (thin ? "CPU left, memory right" : "Each node: CPU left, memory right, filled from below"), "mute"));
    y += 10;
    for (const [id, G] of Object.entries(P.groups)) {
      const word = WORD[G.s] ?? "", x = 6 + id.length * 7.6;
      if (G.s === "chosen") g.push(s("rect", { y: y + 3, width: x + 4, height: 19, rx: 4, class: "pick" }));
      g.push(say(G.s === "chosen" ? 5 : 0, y + 17, id, G.s === "chosen" ? "picked" : `b${G.s === "out" || G.s === "no" ? " over" : ""}`),
        say(x + 10, y + 17, fit([word, G.t].filter(Boolean).join(": "), W - x - 10), "mute"));
      y += 26;
      const all = Object.entries(G.nodes), most = thin ? 2 * per : Math.max(per, 2 * per), shown = all.slice(0, most);
      shown.forEach(([name, N], k) => {
        const left = (k % per) * step + 1, top = y + Math.floor(k / per) * row, was = B.groups[id]?.nodes[name]?.pods ?? {};
        g.push(s("rect", { x: left, y: top, width: bw, height: bh, rx: 3, class: `bin ${N.s}` }),
          s("line", { x1: left + bw / 2, x2: left + bw / 2, y1: top, y2: top + bh, class: "mid" }));
        const foot = [top + bh, top + bh];
        for (const [pod, size] of Object.entries(N.pods)) {
          size.forEach((amount, c) => {
            const tall = (amount / (c ? N.mem : N.cpu)) * bh;
            if (tall < 0.5) return;
            foot[c] -= tall;
            g.push(s("rect", { x: left + (c * bw) / 2 + 2, y: foot[c], width: bw / 2 - 4, height: Math.max(1, tall - 1),
              class: `slice${pod in was ? "" : " new"}` }, s("title", null, `${pod}: ${c ? amount + " MiB" : amount + "m CPU"}`)));
          });
        }
        g.push(say(left + bw / 2, top + bh + 14, few ? tail(name, bw + 12) : name, "mute", "middle"),
          few && say(left + bw / 2, top + bh + 29, NODE[N.s] ?? "", N.s === "gone" ? "b" : "", "middle"));
      });
      if (all.length > shown.length) g.push(say(W, y - 9, `${all.length - shown.length} more`, "mute", "end"));
      y += shown.length ? Math.ceil(shown.length / per) * row + 2 : 0;
    }
    const told = Object.entries(P.groups).map(([id, G]) => `${id} ${WORD[G.s] ?? ""} ${Object.keys(G.nodes).length} nodes`);
    host.replaceChildren(s("svg", { width: W, height: y + 6, role: "img", "aria-label": told.join(", ") }, g.filter(Boolean)));
  } };
} });
