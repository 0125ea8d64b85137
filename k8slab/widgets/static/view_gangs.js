// Gangs: a row for each member, a column for each change, the Nodes' places in a row below.
register("gangs", { label: "Gangs", css: `.pend{stroke:var(--rule);stroke-width:2;stroke-dasharray:2 4}
.hold{fill:#CC79A7;fill-opacity:.45;stroke:var(--ink)}
.go{fill:#CC79A7;stroke:var(--ink);stroke-width:2}
.run{fill:#56B4E9;stroke:var(--ink)}
.free{fill:var(--bg);stroke:var(--rule)}
.no{fill:none;stroke:#D55E00;stroke-width:2.6}
.new{stroke-width:3}
.inb{fill:#14181e}
.head{fill:var(--pane)}
.wait{fill:none;stroke:var(--ink);stroke-width:1.6}`, mount(host, ctx) {
  const pic = h("div");
  host.replaceChildren(pic);
  const say = (x, y, what, cls = "", anchor = "start") => s("text", { x, y, class: cls, "text-anchor": anchor }, what);
  const box = (x, y, width, height, cls, tip) => s("rect", { x, y, width, height, rx: 3, class: cls }, tip && s("title", null, tip));
  const KIND = { reserved: "hold", waiting: "hold", allowed: "go", bound: "run" };
  return { update() {
    const S = ctx.state.gangs, B = ctx.before.gangs, W = ctx.width, thin = W < 560;
    const all = Object.keys(S.changes).map((k) => S.changes[k]), n = all.length, fresh = Object.keys(B.changes).length;
    const L = thin ? 62 : 96, R = thin ? 64 : 128, step = thin ? 18 : 22, rh = 22, cols = Math.max(1, Math.floor((W - L - R) / step));
    const lo = Math.max(0, n - cols), X = (c) => L + (c - lo) * step, g = [], now = {}, runs = {};
    // per member the pieces [first column, state, node]
    all.forEach(([, who, state, node], c) => {
      (runs[who] ??= []).push([c, state, node]);
      now[who] = [state, node];
    });
    const fit = (v, m) => (v.length > m ? v.slice(0, m - 1) + "\u2026" : v);
    let y = 20, last = null;
    g.push(say(0, 12, "ms", "mute"));
    for (let c = lo; c < n; c++) {
      const t = all[c][0];
      if (t !== last && (last === null || c - (g.at ?? -9) > (thin ? 4 : 2))) {
        g.push(say(X(c), 12, ms(t), c >= fresh ? "b" : "mute"), s("path", { d: `M${X(c) - 2} 16v6`, class: "wait" }));
        g.at = c;
      }
      last = t;
    }
    for (const [name, { need, members }] of Object.entries(S.gangs)) {
      const who = Object.keys(members), has = who.filter((w) => KIND[now[w]?.[0]]).length, run = who.filter((w) => now[w]?.[0] === "bound").length;
      g.push(box(0, y, W, 18, "head"), say(4, y + 13, fit(name, 14), "b"),
        say(W - 4, y + 13, `${run} bound, ${has - run} held, needs ${need}`, "mute", "end"));
      y += 20;
      for (const w of who) {
        const [state, node] = now[w] ?? ["", ""];
        g.push(say(4, y + 14, fit(w, thin ? 8 : 13), state === "bound" ? "b" : ""));
        (runs[w] ?? []).forEach(([c, st, nd], i, list) => {
          const end = list[i + 1]?.[0] ?? n;
          if (end <= lo) return;
          const x = X(Math.max(c, lo)), w2 = X(end) - x - 2, hot = c >= fresh ? " new" : "", tip = `${st}${nd ? " on " + nd : ""} from ${ms(all[c][0])} ms`;
          if (KIND[st]) g.push(box(x, y + 3, w2, rh - 7, KIND[st] + hot, tip), st === "waiting" && w2 > 14 && s("path", { d: `M${x + 5} ${y + 6}h7l-7 9h7z`, class: "wait" }));
          else if (st === "pending") g.push(s("line", { x1: x, x2: x + w2, y1: y + 10.5, y2: y + 10.5, class: "pend" + hot }));
          else g.push(s("path", { d: `M${x + 3} ${y + 5}l10 11m0-11l-10 11`, class: "no" + hot }, s("title", null, tip)));
        });
        g.push(say(W - R + 6, y + 14, thin ? state : fit(`${state}${KIND[state] ? " " + node : ""}`, 19), "mute"));
        y += rh;
      }
      y += 4;
    }
    // what each Node has given away
    y += 14;
    let x = 0;
    for (const [name, size] of Object.entries(S.nodes)) {
      const here = Object.keys(now).filter((w) => KIND[now[w][0]] && now[w][1] === name), wide = thin ? 62 : 84, all2 = Math.max(size, here.length) * (wide + 3) + 12;
      if (x && x + all2 > W) [x, y] = [0, y + 48];
      g.push(say(x, y, name, "b"));
      for (let i = 0; i < Math.max(size, here.length); i++) {
        const w = here[i];
        g.push(box(x + i * (wide + 3), y + 6, wide, 20, w ? KIND[now[w][0]] : "free", w), w && say(x + i * (wide + 3) + 6, y + 20, fit(w, thin ? 8 : 11), now[w][0] === "waiting" || now[w][0] === "reserved" ? "" : "inb"));
      }
      x += all2;
    }
    y += 44;
    g.push(say(0, y, thin ? "light: held; full: bound; cross: sent back" : "dots: pending; hourglass: a place held in Permit; blue: bound; cross: the place is taken back", "mute"));
    pic.replaceChildren(s("svg", { width: W, height: y + 8, role: "img", "aria-label": Object.keys(S.gangs).join(" and ") + ". As the text says." }, g));
  } };
} });
