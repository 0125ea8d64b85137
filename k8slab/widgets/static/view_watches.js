// Watches: a column for each revision, the store in the first row, then a row for each watch with where its events are.
register("watches", { label: "Watches", css: `.rec{fill:#E69F00;stroke:var(--ink)}
.rec.gone{fill:var(--bg);stroke:var(--rule);stroke-dasharray:3 3}
.x{fill:none;stroke:var(--ink);stroke-width:2.6}
.x.gone{stroke:var(--rule)}
.ev{fill:var(--bg);stroke:var(--ink);stroke-width:1.6}
.ev.read{fill:#E69F00}
.ev.kept{stroke-dasharray:3 2}
.chg{stroke-width:3}
.debt{stroke:var(--ink);stroke-width:2;stroke-dasharray:1 5}
.now2{stroke:var(--ink);stroke-width:2}
.flag{fill:none;stroke:var(--ink);stroke-width:2}
.gone2{fill:var(--pane)}
.cut3{stroke:var(--ink);stroke-width:3;stroke-dasharray:7 4}
.say2 input{flex:1;min-width:0;border:1px solid var(--rule);border-radius:6px;padding:3px 9px;font:inherit;color:inherit;background:var(--bg)}`, mount(host, ctx) {
  const pic = h("div");
  const text = h("input", { "aria-label": "An operation for the store and its watches", placeholder: "watch a --rev=2", onkeydown: (e) => {
    e.stopPropagation(); // the arrows and the space are for the text
    if (e.key === "Enter") run();
  } });
  const run = () => text.value.trim() && ctx.ask("do: " + text.value);
  const order = h("div", { class: "rdy say2" }, text, h("button", { onclick: run }, "do it"));
  host.replaceChildren(pic, order);
  const say = (x, y, what, cls = "", anchor = "middle") => s("text", { x, y, "text-anchor": anchor, class: cls }, what);
  const line = (x, y, p, q, cls) => s("line", { x1: x, y1: y, x2: p, y2: q, class: cls });
  return { update() {
    const S = ctx.state.watches, B = ctx.before.watches, W = ctx.width, thin = W < 560, all = Object.keys(S.by), ids = all.slice(-6);
    const L = thin ? 92 : 132, step = thin ? 30 : 38, room = Math.max(1, Math.floor((W - L - 34) / step)), rh = 44, top = 46;
    const hi = S.revision, lo = Math.max(1, hi + 1 - room), X = (r) => L + (r - lo + .5) * step, left = (r) => X(Math.max(lo, Math.min(r, hi + 1))) - step / 2;
    const H = top + (ids.length + 1) * rh, g = [], end = left(hi + 1), fit = (v, n) => (v.length > n ? v.slice(0, n - 1) + "\u2026" : v);
    if (S.compacted >= lo) {
      const x = left(S.compacted), near = x - L < 110;
      g.push(s("rect", { x: L, y: 18, width: x - L, height: H - 18, class: "gone2" }), line(x, 18, x, H, "cut3"),
        say(near ? x : x - 4, 12, `compacted at ${S.compacted}`, "", near ? "start" : "end"));
    }
    g.push(say(L - 8, 36, "revision", "mute", "end"), line(end, 18, end, H, "now2"), say(end + 4, 36, "now", "b", "start"));
    for (let r = lo; r <= hi; r++) g.push(say(X(r), 36, r, r === hi ? "b" : "mute"));
    const row = (j, name, what) => {
      const y = top + j * rh;
      g.push(line(0, y + rh - 4, W, y + rh - 4, "lane"), say(0, y + 14, fit(name, thin ? 12 : 17), "b", "start"), say(0, y + 29, fit(what, thin ? 13 : 20), "mute", "start"));
      return y + 20;
    };
    const y0 = row(0, "store", "history");
    for (const [r, { what, gone }] of Object.entries(S.records)) {
      if (r < lo) continue;
      const x = X(+r), cls = (gone ? " gone" : "") + (B.records[r]?.gone === gone ? "" : " chg"), [verb, key] = what.split(" ");
      g.push(verb === "put" ? s("rect", { x: x - 11, y: y0 - 14, width: 22, height: 18, rx: 3, class: "rec" + cls }, s("title", null, what))
        : s("path", { d: `M${x - 6} ${y0 - 11}l12 12m0-12l-12 12`, class: "x" + cls }), say(x, y0 + 17, fit(key.replace(",", ""), thin ? 4 : 5), "mute"));
    }
    ids.forEach((id, j) => {
      const w = S.by[id], was = B.by[id], waits = Object.values(w.events).filter((e) => e === "waits").length;
      const y = row(j + 1, `${id} on ${w.key}`, w.group + (waits && !thin ? `, ${waits} wait` : ""));
      // what it is owed still: from its cursor to now
      if (w.next <= hi) {
        const x = left(w.next);
        if (w.group !== "canceled") g.push(line(x + 8, y - 2, end - 2, y - 2, "debt"));
        g.push(s("path", { d: `M${x} ${y - 14}v24m0-24l7 5-7 5`, class: "flag" }));
      }
      for (const [r, where] of Object.entries(w.events)) {
        if (r < lo) continue;
        const x = X(+r);
        g.push(s("path", { d: `M${x - 9} ${y - 9}h18l-9 15z`, class: `ev ${where}` + (was?.events[r] === where ? "" : " chg") }, s("title", null, where)));
        if (where !== "read") g.push(say(x, y + 18, where === "kept" ? "kept" : thin ? "" : "waits", "mute"));
      }
    });
    const more = all.length - ids.length;
    g.push(say(0, H + 16, more ? `${more} more watches` : thin ? "flag: owed from here; filled: read" : "triangle: an event, filled when its reader has it; flag: the watch is owed from here on", "mute", "start"));
    pic.replaceChildren(s("svg", { width: W, height: H + 22, role: "img", "aria-label": `${ids.length} watches, revision ${hi}. As the text says.` }, g));
    order.hidden = !ctx.live;
  } };
} });
