// Preemption: a row for each node with its Pods, a column for each criterion; who loses a comparison is struck out.
register("preempt", { label: "Victims", css: `.pre{border-collapse:collapse;width:100%;font-size:13px;table-layout:fixed}
.pre caption{text-align:left;color:var(--mute);padding:2px 0}
.pre th,.pre td{padding:1px 6px;line-height:17px;text-align:left;font-weight:400;overflow-wrap:anywhere}
.pre thead th{font-size:12px;vertical-align:bottom;border-bottom:1px solid var(--rule)}
.pre td{text-align:right;font-variant-numeric:tabular-nums}
.pre th:first-child{width:25%}
.pre .num{text-align:right}
.pre .col{background:var(--pane)}
.pre .hot{background:var(--hot)}
.pre .pods{text-align:left;border-bottom:1px solid var(--line);padding-bottom:4px}
.pre b{font-weight:650}
.pre .out b,.pre .no b{text-decoration:line-through;font-weight:400}
.pre .out td,.pre .no td{color:var(--mute)}
.pre .chosen th{background:var(--ink);color:var(--bg)}
.chip{display:inline-block;border:1px solid var(--rule);border-radius:4px;padding:0 5px;margin:1px 4px 0 0;font-size:12px;color:var(--ink)}
.chip.stays{background:#CC79A7;color:#14181e;border-color:var(--ink)}
.chip.away{border-style:dashed;color:var(--mute)}
.chip.victim{border:2px solid var(--ink);background:repeating-linear-gradient(135deg,transparent 0 5px,var(--pane) 5px 9px)}
.chip.new{box-shadow:0 0 0 2px var(--ink)}
.vis{font-weight:650}`, mount(host, ctx) {
  const MOST = 6, WIDE = ["budgets broken", "highest victim", "sum (priority + 2\u00b3\u00b9)", "victims", "they started"];
  const THIN = ["PDB", "top", "sum", "count", "start"], WORD = { stays: "stays", away: "away", victim: "goes" };
  return { update() {
    const P = ctx.state.preempt, B = ctx.before.preempt, thin = ctx.width < 560, all = Object.keys(P.nodes);
    const hot = (n) => JSON.stringify(P.nodes[n]) !== JSON.stringify(B.nodes[n]), rank = ["chosen", "candidate", "asked", "out"];
    const worth = (n) => (hot(n) ? -1 : rank.indexOf(P.nodes[n].state) >>> 0);
    const some = [...all].sort((a, b) => worth(a) - worth(b)).slice(0, MOST), names = all.filter((n) => some.includes(n));
    const chip = (n, [key, c]) => h("span", { class: `chip ${c.s}${B.nodes[n].pods[key].s !== c.s ? " new" : ""}` },
      `${key.replace("default/", "")} \u00b7 ${c.p}`, c.b && " \u00b7 PDB", c.s && h("span", { class: "vis" }, ` ${WORD[c.s]}`));
    const rows = names.flatMap((n) => {
      const N = P.nodes[n], dead = N.state === "no";
      return [h("tr", { class: N.state }, h("th", { scope: "row", class: hot(n) && !dead && P.column < 0 ? "hot" : "" }, h("b", null, n),
        N.state === "chosen" && " chosen", N.state === "out" && " out"),
      dead ? h("td", { colspan: 5, class: "pods", style: "border:0" }, N.why)
        : WIDE.map((_, k) => h("td", { class: k === P.column ? (N.cells[k] !== B.nodes[n].cells[k] ? "hot" : "col") : "" }, N.cells[k] ?? "\u00b7"))),
      h("tr", null, h("td", { class: "pods", colspan: 6 }, Object.entries(N.pods).map((e) => chip(n, e))))];
    });
    const hidden = all.length - names.length;
    host.replaceChildren(h("table", { class: "pre" }, h("caption", null, `Pod ${P.pod}, priority ${P.priority}`,
      hidden > 0 && `; ${hidden} more nodes are not shown`), h("thead", null, h("tr", null, h("th", { scope: "col" }, "node"),
      (thin ? THIN : WIDE).map((w, k) => h("th", { scope: "col", class: "num" + (k === P.column ? " col" : "") }, w)))), h("tbody", null, rows)));
  } };
} });
