// Nodes and plugins: plugins down, nodes across. A rejected node's column ends in its reason: that is the short circuit.
register("matrix", { label: "Nodes and plugins", css: `.matrix{border-collapse:collapse;width:100%;font-size:13px;table-layout:fixed}
.matrix caption{text-align:left;color:var(--mute);padding:2px 0}
.matrix th{font-weight:400;text-align:left;overflow-wrap:anywhere}
.matrix thead th{font-weight:650}
.matrix thead th+th{text-align:center}
.matrix th:first-child{width:35%}
.few th:first-child{width:45%}
.matrix td,.matrix th{padding:1px 8px;height:21px;border-bottom:1px solid var(--line);line-height:18px}
.matrix td{text-align:center;position:relative}
.matrix td.num{text-align:right}
.matrix .no{background:repeating-linear-gradient(135deg,transparent 0 6px,var(--pane) 6px 12px);vertical-align:top;text-align:left;padding:1px 4px}
.matrix .no b{display:block;text-align:center;font-weight:400}
.matrix .no span{display:block;font-size:12px;line-height:16px;overflow-wrap:break-word}
.matrix .todo,.matrix .cut th{color:var(--mute)}
.matrix .hot{box-shadow:inset 0 0 0 2px var(--ink);background:var(--hot)}
.matrix .no.hot{background:linear-gradient(var(--hot) 22px,transparent 22px)}
.matrix .sum>*{border-top:2px solid var(--ink);font-weight:700}
.matrix .win{background:var(--ink);color:var(--bg)}
.tag{position:absolute;left:6px;font-size:12px;font-weight:400}
.only{display:none}
.narrow .only{display:inline}
.narrow .pre,.narrow .tag{position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%)}
.narrow .matrix th:first-child{width:42%;font-size:12px}
.narrow .matrix td,.narrow .matrix th{padding:1px 4px}
.narrow .matrix thead th+th{padding:1px 2px;font-size:12px;line-height:15px}
.narrow .matrix .bar{display:none}
.narrow .matrix .no span{writing-mode:vertical-rl;line-height:15px;margin:2px auto 0;max-height:150px;font-size:12px}
.bar{position:absolute;left:4px;top:calc(50% - 5px);height:10px;background:#CC79A7;opacity:.75;border-radius:2px}`, mount(host, ctx) {
  const MOST = 5; // nodes side by side; of more, those that the step is about, the winner, and one of each fate
  return { update() {
    const m = ctx.state.matrix, was = ctx.before.matrix ?? m;
    const hot = (n, q) => (m.cell[n][q] !== was.cell[n][q] ? " hot" : "");
    const changed = m.nodes.filter((n) => m.cell[n] !== was.cell[n]);
    const seen = new Set(), told = m.nodes.map((n) => JSON.stringify(m.cell[n]));
    const odd = m.nodes.filter((n, j) => !seen.has(told[j]) && seen.add(told[j]));
    const rank = [...new Set([...changed, m.winner ?? odd[0], ...odd, ...m.nodes])].slice(0, MOST);
    const nodes = m.nodes.filter((n) => rank.includes(n)), hidden = m.nodes.length - nodes.length;
    const [n0, ...ns] = nodes, cut = Math.max(0, [...n0].findIndex((c, j) => ns.some((n) => n[j] !== c)));
    const th = (...parts) => h("th", { scope: "row" }, parts.map((part) => part.split?.(/(?<=[a-z])(?=[A-Z])/).flatMap((word) => [h("wbr"), word]) ?? part));
    const head = h("tr", null, h("th", { scope: "col" }, "Plugin"), nodes.map((n) => h("th", { scope: "col",
      class: m.winner === n && "win" }, h("span", { class: "pre" }, n.slice(0, cut)), n.slice(cut))));
    const dot = "\u00b7", dead = {}, n = m.scores.length, scored = n > 0, left = m.filters.length + (n && n + 2);
    const rows = m.filters.map((p, j) => h("tr", null, th(p), nodes.map((n) => {
      if (dead[n]) return null;
      const c = m.cell[n]["f:" + p], hit = hot(n, "f:" + p);
      if (c && !c.ok) {
        dead[n] = true;
        return h("td", { class: "no" + hit, rowspan: left - j }, h("b", { "aria-hidden": "true" }, "\u2715"), h("span", null, (ctx.width < 560 ? c.why.replace("node(s) ", "") : c.why).replace("/", "/\u200b")));
      }
      return h("td", { class: (c ? "ok" : "todo") + hit }, h("span", { "aria-hidden": "true" }, c ? "\u2713" : dot),
        h("span", { class: "vh" }, c ? "passes" : "not asked yet"));
    })));
    const alive = nodes.filter((n) => !dead[n]);
    // with nothing to add up, the columns end with the filters, and the last row only says who it is
    const sum = (n) => scored ? m.total[n] ?? dot : dead[n] ? "" : m.winner === n ? "\u2713" : dot;
    if (scored) rows.push(h("tr", { class: "cut" }, th("weight \u00d7 score"), alive.map(() => h("td"))));
    for (const p of m.scores) {
      rows.push(h("tr", null, th(h("span", { class: "mute" }, `${p.weight} \u00d7 `), p.name), alive.map((n) => {
        const c = m.cell[n]["s:" + p.name];
        return h("td", { class: (c ? "num" : "todo") + hot(n, "s:" + p.name), title: c && (c.r === c.v ? `${c.v} of 100` : `raw ${c.r}, normalised ${c.v} of 100`) },
          c ? [h("i", { class: "bar", style: `width:${c.v * .5}%` }), `${c.x}`] : dot);
      })));
    }
    rows.push(h("tr", { class: "sum" }, th(scored ? "total" : "winner"), (scored ? alive : nodes).map((n) => h("td", { class: (m.total[n] >= 0 ? "num" : "todo") + (m.winner === n ? " win" : "") },
      scored && m.winner === n && h("span", { class: "tag" }, "winner"), `${sum(n)}`))));
    host.replaceChildren(h("table", { class: "matrix" + (nodes.length < 4 ? " few" : "") }, h("caption", null, `Pod ${m.pod.replace("default/", "")}`,
      m.want && ` wants ${m.want}`, hidden > 0 && `; ${hidden} more ${hidden > 1 ? "nodes are" : "node is"} not shown`,
      m.idle > 0 && `; ${m.idle} plugins have nothing to say about it`,
      h("span", { class: "only" }, `; columns are ${n0} to ${nodes.at(-1)}`)), h("thead", null, head), h("tbody", null, rows)));
  } };
} });
