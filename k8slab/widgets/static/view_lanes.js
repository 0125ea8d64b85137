// Lanes: a row for each component, steps from left to right, an arrow from each cause.
register("lanes", { label: "Lanes", mount(host, ctx) {
  let key, pos, X, Y, H, rows, scene, cut, edges, over, bands, badges, gaps, times, W, LBL, span, step;
  const lane = (k) => ctx.steps[k].actor;
  const arc = (c, j) => curve(X[c], Y[lane(ctx.order[c])], X[j], Y[lane(ctx.order[j])]);
  const posOf = (seq) => pos.get(seq) ?? -1;
  function build() {
    const { trace, steps, order, why } = ctx, narrow = ctx.width < 560;
    W = ctx.width;
    LBL = narrow ? 104 : 166;
    const LH = narrow ? 25 : 23, TOP = 22, room = W - LBL;
    // rows: of the lanes with steps, with Pods or keys, or ready; the walk of why keeps the rows that were there
    const used = new Set([...order.map(lane), ...(trace.ready ?? []).map((r) => r[0]), ...Object.keys(ctx.state.badges ?? {})]);
    const need = trace.lanes.filter((l) => used.has(l.id) || "you api etcd".includes(l.role));
    if (!why || !need.every((l) => rows?.includes(l))) rows = why ? trace.lanes : need;
    H = TOP + rows.length * LH + 3;
    const row = (k) => rows.findIndex((l) => l.id === lane(k));
    step = why ? Math.max(13, Math.min(46, (room - (narrow ? 44 : 56)) / order.length)) : narrow ? 21 : 27;
    X = []; edges = []; bands = []; badges = []; gaps = [];
    const ticks = [];
    let x = 14, lastT = -1, lastX = -99;
    order.forEach((k, j) => {
      const t = steps[k].t, dt = j ? t - steps[order[j - 1]].t : 0;
      if (dt >= 100) {
        gaps.push([row(k) + row(order[j - 1]) < rows.length, ...gap(x - step / 2 + 8, TOP, H, dt)]);
        x += 22;
      }
      X.push(x);
      if (t !== lastT && x - lastX > 40) { ticks.push([j, x, t]); lastX = x; lastT = t; }
      x += step;
    });
    span = x + 24;
    Y = Object.fromEntries(rows.map((l, j) => [l.id, TOP + j * LH + LH / 2]));
    pos = new Map(order.map((k, j) => [steps[k].seq, j]));
    cut = s("rect", { x: -50, y: 0, height: H });
    const g = s("g", { "clip-path": "url(#cut)" }, gaps.map((q) => q[2]));
    order.forEach((k, j) => {
      const c = pos.get(ctx.causeIn(k));
      if (c == null) return;
      const e = s("path", { d: arc(c, j), class: "cause" });
      edges.push([k, e, j]);
      g.append(e);
    });
    order.forEach((k, j) => {
      const m = mark(steps[k].kind, ctx.role(k), X[j], Y[lane(k)]);
      m.addEventListener("click", () => ctx.go(j));
      m.append(s("title", null, steps[k].text));
      g.append(m);
    });
    times = ticks.map(([j, tx, t]) => [j, tx, s("text", { x: tx, y: 15, "text-anchor": "middle", class: "mute" }, ctx.time(t))]);
    over = s("g");
    scene = s("g", { class: "scene" }, times.map((q) => q[2]), g, over, s("g", { "clip-path": "url(#cut)" }, gaps.map((q) => q[3])));
    const heads = rows.map((l) => {
      const [band, held, ...rest] = laneHead(l.role, narrow ? l.short : l.label, Y[l.id], LH, LBL, W);
      bands.push([l.id, band]);
      badges.push([l, held]);
      return [band, held, rest];
    });
    host.replaceChildren(s("svg", { width: W, height: H, viewBox: `0 0 ${W} ${H}`, role: "img",
      "aria-label": "A row for each component, steps left to right. As the text says." },
      s("defs", null, s("clipPath", { id: "cut" }, cut),
        s("clipPath", { id: "plot" }, s("rect", { x: LBL, width: room, height: H })), TIP()),
      heads, s("text", { x: 26, y: 15, class: "mute" }, ctx.time(0) && (narrow ? "t (ms)" : "virtual time, ms")),
      s("g", { "clip-path": "url(#plot)" }, scene)));
  }
  return { update() {
    const now = [ctx.order, ctx.width, (ctx.trace.ready ?? []).join()].join();
    if (now !== key) { key = now; build(); }
    const { i, order, steps, why } = ctx, k = order[i], st = steps[k], x = X[i], y = Y[st.actor], room = W - LBL;
    const all = span <= room && !ctx.live;
    const shift = LBL + (all ? 0 : Math.min(0, Math.max(room * .6 - x, why ? room - span : -1e9)));
    scene.style.transform = `translate(${shift}px,0)`;
    cut.setAttribute("width", (why ? span : x + 12) + 50);
    const anc = ctx.ancestors(k);
    for (const [j, tx, n] of times) {
      n.style.display = (j > i && !why) || Math.abs(tx - x) < 46 || tx + shift < LBL + 8 ? "none" : "";
    }
    for (const [e, p, j] of edges) p.setAttribute("class", "cause" + (anc.has(e) ? " anc" : !why && j > i ? " fut" : ""));
    for (const [id, b] of bands) b.classList.toggle("on", id === st.actor);
    for (const [l, g] of badges) {
      g.replaceChildren(...(ctx.state.badges?.[l.id] ?? []).map((b, j) => badge(j, b, l.role)));
    }
    const c = posOf(ctx.causeIn(k)), label = s("text", { y: y + 4.5, class: "label" }, st.label);
    const also = (st.also ?? []).map((q) => posOf(ctx.shownSeq(q))).filter((q) => q >= 0 && q !== c && q < i);
    const can = ctx.live ? ctx.trace.ready ?? [] : [];
    over.replaceChildren(s("text", { x, y: 15, "text-anchor": "middle", class: "b" }, ctx.time(st.t)),
      s("line", { x1: x, x2: x, y1: 20, y2: 1000, class: "cursor" }), ...also.map((q) => s("path", { d: arc(q, i), class: "also" })),
      c < 0 ? "" : s("path", { d: arc(c, i), class: "now", "marker-end": "url(#tip)" }),
      ...can.map(([l]) => s("circle", { cx: x + 30, cy: Y[l], r: 6, class: "can", onclick: () => ctx.ask(l) })),
      s("circle", { cx: x, cy: y, r: 10, class: "ring" }), label, mark(st.kind, ctx.role(k), x, y));
    const w = label.getComputedTextLength(), off = can.some((r) => r[0] === st.actor) ? 42 : 16;
    const right = x + shift + off + w < W, left = !why && x + shift - 18 - w > LBL;
    const lx = right ? x + off : left ? x - 16 - w : -1e9;
    putLabel(label, lx, y, w);
    // how long nothing happened, not under the label
    for (const [low, gx, , , place] of gaps) place(lx < gx + 21 && lx + w > gx - 9 ? y < H / 2 : low);
  } };
} });
