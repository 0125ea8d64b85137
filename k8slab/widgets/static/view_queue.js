// A scheduling queue: a lane for each place a Pod can be in, a card for each Pod, an arrow for each move.
register("queue", { label: "Queue", css: `.card{fill:var(--bg);stroke:var(--rule)}
.card.chg{stroke:var(--ink);stroke-width:2.5}
.card.hot{fill:var(--hot)}
.card.assumed{stroke-dasharray:5 3;stroke:var(--ink)}
.band{fill:#CC79A7;stroke:var(--ink)}
.band.wait{fill:var(--bg);stroke:var(--rule)}
.band.set{fill:#56B4E9}
.bay{fill:var(--pane)}
.move{fill:none;stroke:var(--ink);stroke-width:2}
.ghost{fill:none;stroke:var(--rule);stroke-dasharray:2 3}
.full{fill:#CC79A7;stroke:none;opacity:.75}
.cup{fill:none;stroke:var(--ink)}
.say3 input{flex:1;min-width:0;border:1px solid var(--rule);border-radius:6px;padding:3px 9px;font:inherit;color:inherit;background:var(--bg)}`, mount(host, ctx) {
  const LANES = [["Active", "active", "next to be taken"], ["InFlight", "in flight", "being decided"], ["Unschedulable", "unschedulable", "waits for an event"],
    ["Backoff", "back-off", "waits for a time"], ["Placed", "on a node", "dashed: assumed"]];
  const pic = h("div");
  const text = h("input", { "aria-label": "An operation for the queue", placeholder: "pod web cpu=1", onkeydown: (e) => {
    e.stopPropagation(); // the arrows and the space are for the text
    if (e.key === "Enter") run();
  } });
  const run = () => text.value.trim() && ctx.ask("do: " + text.value);
  const order = h("div", { class: "rdy say3" }, text, h("button", { onclick: run }, "do it"));
  host.replaceChildren(pic, order);
  const say = (x, y, what, cls = "", anchor = "start") => s("text", { x, y, "text-anchor": anchor, class: cls }, what);
  const fit = (v, n) => (v.length > n ? v.slice(0, n - 1) + "\u2026" : v);
  return { update() {
    const S = ctx.state.queue, B = ctx.before.queue ?? S, W = ctx.width, thin = W < 560, L = thin ? 0 : 112, gap = 6, head = 26;
    const per = thin ? 3 : 4, cw = Math.floor((W - L - 8 - gap * (per - 1)) / per), chars = Math.floor((cw - 18) / (thin ? 6.9 : 6.8)), top = thin ? 20 : 6, rh = top + 46;
    const g = [], later = [];
    const line = (pods, lane) => Object.keys(pods).filter((n) => pods[n].lane === lane).sort((a, b) => pods[a].place - pods[b].place);
    const where = (pods) => Object.fromEntries(LANES.flatMap(([id], j) => line(pods, id).map((n, k) => [n, [L + 4 + Math.min(k, per - 1) * (cw + gap), head + j * rh + top]])));
    const was = where(B.pods), time = (t) => (t % 1000 && t < 1e4 ? `${ms(t)} ms` : `${t / 1000} s`);
    g.push(say(0, 15, `time ${time(S.now_ms)}`, "b"), S.about.event && say(W, 15, fit(`event: ${S.about.event}`, thin ? 34 : 60), "", "end"));
    LANES.forEach(([id, label, what], j) => {
      const y = head + j * rh, names = line(S.pods, id), more = names.length - per;
      g.push(s("rect", { x: L, y: y + top - 4, width: W - L, height: 46, rx: 6, class: "bay" }),
        say(0, y + (thin ? 13 : 26), label, "b"), say(thin ? 110 : 0, y + (thin ? 13 : 42), what, "mute"));
      names.forEach((n, k) => {
        const x = L + 4 + k * (cw + gap);
        if (more > 0 && k >= per - 1) {
          if (k < per) g.push(say(x + 8, y + top + 24, `and ${more + 1} more`, "mute"));
          return;
        }
        const p = S.pods[n], o = B.pods[n], cy = y + top, moved = o && o.lane !== id;
        const why = id === "Placed" ? `${p.node}, ${p.state}` : id === "Backoff" ? `until ${time(p.until_ms)}` : id === "Unschedulable" ? p.by : p.why;
        const hot = S.about.pod === n ? " hot" : "", chg = !o || moved ? " chg" : "";
        g.push(s("rect", { x, y: cy, width: cw, height: 38, rx: 5, class: `card${hot}${chg}${p.state === "assumed" ? " assumed" : ""}` }, s("title", null, `${n}: ${why}`)),
          s("rect", { x: x + 4, y: cy + 5, width: 6, height: 28, rx: 2, class: "band" + (id === "Placed" ? " set" : id === "Unschedulable" || id === "Backoff" ? " wait" : "") }),
          say(x + 15, cy + 16, fit(n, chars - (p.priority ? 6 : 2)), "b"), p.priority && say(x + cw - 5, cy + 16, `p${p.priority}`, "", "end"),
          say(x + 15, cy + 31, fit(why, chars), "mute"));
        if (moved && was[n]) {
          const [ox, oy] = was[n], down = cy > oy, a = ox + cw - 22, b = x + cw - 22, y1 = oy + (down ? 40 : -2), y2 = cy + (down ? -3 : 41);
          later.push(s("rect", { x: ox, y: oy, width: cw, height: 38, rx: 5, class: "ghost" }),
            s("path", { d: `M${a} ${y1}C${a} ${(y1 + y2) / 2} ${b} ${(y1 + y2) / 2} ${b} ${y2}`, class: "move", "marker-end": "url(#tip)" }));
        }
      });
    });
    let y = head + LANES.length * rh + 6;
    const nodes = Object.entries(S.nodes), fits = thin ? 2 : 4, nw = Math.floor(W / fits);
    nodes.slice(0, 8).forEach(([n, { used, has }], k) => {
      const x = (k % fits) * nw, ny = y + Math.floor(k / fits) * 34;
      const rest = `: ${used / 1000} of ${has / 1000} CPU`, most = Math.floor((nw - 14) / 7.4) - rest.length;
      g.push(say(x, ny + 12, (n.length > most ? "\u2026" + n.slice(1 - most) : n) + rest),
        s("rect", { x, y: ny + 17, width: Math.max(0, Math.min(1, used / (has || 1))) * (nw - 14), height: 8, class: "full" }), s("rect", { x, y: ny + 17, width: nw - 14, height: 8, class: "cup" }));
    });
    y += Math.ceil(Math.min(8, nodes.length) / fits) * 34;
    const count = LANES.map(([id, label]) => `${line(S.pods, id).length} ${label}`).join(", ");
    pic.replaceChildren(s("svg", { width: W, height: y, role: "img", "aria-label": `${count}. As the text says.` }, s("defs", null, TIP()), g, later));
    order.hidden = !ctx.live;
  } };
} });
