// Nodes with what they cost, before and after: a row for each, its Pods as pieces of its CPU, the bill below.
register("consolidation", { label: "Nodes and prices", css: `.bill{border-collapse:collapse;width:100%;font-size:13px;table-layout:fixed}
.bill caption{text-align:left;color:var(--mute);padding:2px 0 4px}
.bill caption b{color:var(--ink);font-weight:650}
.bill th,.bill td{padding:3px 6px;line-height:17px;text-align:left;font-weight:400;overflow-wrap:anywhere;vertical-align:top;border-bottom:1px solid var(--line)}
.bill thead th{font-size:12px;border-bottom:1px solid var(--rule)}
.bill .num{text-align:right;font-variant-numeric:tabular-nums}
.bill b{font-weight:650}
.bill .mute{color:var(--mute)}
.bill .hot{background:var(--hot)}
.bill .goes b,.bill .goes .num{text-decoration:line-through}
.bill tfoot th,.bill tfoot td{border:0;border-top:2px solid var(--ink);font-weight:650}
.room{display:flex;height:20px;border:1px solid var(--ink);border-radius:3px;background:var(--pane);overflow:hidden}
.room i{display:block;box-sizing:border-box;border-right:1px solid var(--ink);background:#56B4E9;color:#14181e;font-style:normal;font-size:12px;line-height:18px;overflow:hidden;white-space:nowrap;padding:0 3px}
.room i.new{background:#8C6D31;color:#fff}
.goes .room{border-style:dashed}
.goes .room i,.goes .room i.new{background:repeating-linear-gradient(135deg,#14181e 0 2px,#cfe9fa 2px 6px) 0 100%/100% 4px no-repeat,#cfe9fa;color:#14181e;line-height:15px}
.wide th:nth-child(1){width:25%}.wide th:nth-child(2){width:15%}.wide th:nth-child(3){width:11%}
.slim th:nth-child(1){width:34%}.slim th:nth-child(2){width:25%}`, mount(host, ctx) {
  const MOST = 8, money = (m) => (m / 1e6).toFixed(3), time = (t) => {
    const s = Math.floor(t / 1000), m = Math.floor(s / 60);
    return (m ? `${m} min ` : "") + `${s % 60} s`;
  };
  return { update() {
    const S = ctx.state.consolidation, B = ctx.before.consolidation, slim = ctx.width < 560, all = Object.keys(S.nodes);
    const changed = (n) => JSON.stringify(S.nodes[n]) !== JSON.stringify(B.nodes[n]);
    const worth = (n) => (changed(n) ? 0 : 1), some = [...all].sort((a, b) => worth(a) - worth(b)).slice(0, MOST);
    const names = all.filter((n) => some.includes(n)), gone = Object.keys(B.nodes).filter((n) => !S.nodes[n]);
    const rows = names.map((n) => {
      const N = S.nodes[n], O = B.nodes[n], stage = N.goes && N.stage !== "Draining" ? "going" : N.stage;
      const kinds = [N.type || "not bought yet", [N.zone, N.kind].filter(Boolean).join(", ")];
      const pods = Object.entries(N.pods).map(([p, c]) => h("i", { class: O && p in O.pods ? "" : "new", title: `${p}: ${c}m`,
        style: `width:${(100 * c) / (N.cpu.has || 1)}%` }, p));
      const room = h("div", { class: "room", role: "img", "aria-label": `${Object.keys(N.pods).length} Pods use ${N.cpu.used} of ${N.cpu.has} thousandths of a CPU: ${Object.keys(N.pods).join(", ") || "none"}` }, pods);
      return h("tr", { class: N.goes ? "goes" : "" }, h("th", { scope: "row", class: O ? "" : "hot" }, h("b", null, n), h("div", { class: "mute" }, kinds[0]), h("div", { class: "mute" }, kinds[1])),
        h("td", { class: O && O.stage === N.stage && O.goes === N.goes ? "" : "hot" }, stage, slim && h("div", null, money(N.price))),
        !slim && h("td", { class: "num" }, money(N.price)), h("td", null, room, h("div", { class: "mute" }, `${N.cpu.used / 1000} of ${N.cpu.has / 1000} CPU`)));
    });
    const rest = all.length - names.length, wait = Object.keys(S.waiting).length, diff = S.price - B.price;
    const word = diff ? `${money(B.price)} before, ${diff > 0 ? "+" : "\u2212"}${money(Math.abs(diff))}` : "as before";
    host.replaceChildren(h("table", { class: `bill ${slim ? "slim" : "wide"}` },
      h("caption", null, `time ${time(S.now_ms)}, spent $ ${(S.spent / 1e6).toFixed(4)}; `, h("b", null, wait ? `${wait} Pods wait` : "no Pod waits"),
        rest > 0 && `; ${rest} more nodes are not shown`, gone.length > 0 && `; gone: ${gone.join(", ")}`),
      h("thead", null, h("tr", null, ["node", "stage", !slim && "$ an hour", "Pods by their CPU"].filter(Boolean).map((w, k) => h("th", { scope: "col", class: k === 2 && !slim ? "num" : "" }, w)))),
      h("tbody", null, rows), h("tfoot", null, h("tr", null, h("th", { scope: "row" }, `${all.length} node${all.length === 1 ? "" : "s"}`), h("td", { class: diff ? "hot" : "" }, slim ? `$ ${money(S.price)}` : ""),
        !slim && h("td", { class: "num" + (diff ? " hot" : "") }, money(S.price)), h("td", null, word)))));
  } };
} });
