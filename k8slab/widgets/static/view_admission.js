// A create on its way: the stages that had something to say, what this one changed, and where it ended.
register("admission", { label: "The stages", css: `.adm{border-collapse:collapse;width:100%;font-size:13px;table-layout:fixed}
.adm td,.adm th{padding:2px 8px;text-align:left;vertical-align:top;font-weight:400;overflow-wrap:anywhere;line-height:18px}
.adm .band th{background:var(--pane);font-weight:650;border-top:1px solid var(--line)}
.adm .now>*{background:var(--hot)}
.adm .now th{box-shadow:inset 3px 0 0 var(--ink);font-weight:650}
.adm .st{width:38%;padding-left:18px}
.adm .off{color:var(--mute)}
.adm .refuse td{font-weight:650}
.adm .d td{padding:1px 8px 1px 30px;font:12px/17px ui-monospace,Menlo,Consolas,monospace}
.adm .d ins{text-decoration:none;background:var(--add)}
.adm .d del{color:var(--mute)}
.adm .end td{border-top:2px solid var(--ink);font-weight:650;padding-top:4px}
.narrow .adm .st{width:46%;padding-left:10px}
.narrow .adm .d td{padding-left:14px}`, mount(host, ctx) {
  const BANDS = [["Request", ["object"]], ["Mutating admission", ["mutating"]], ["The object's own rules", ["object"]],
    ["Validating admission", ["validating"]], ["etcd", ["store"]]];
  const SIGN = { change: "\u0394", say: "\u2139", valid: "\u2713", refuse: "\u2715", stored: "\u2713" };
  return { update() {
    const S = ctx.state.admission, before = Object.keys(ctx.before.admission?.rows ?? {}).length;
    const rows = Object.values(S.rows), last = rows.length - 1, fresh = rows.length !== before;
    const reach = Math.max(0, ...rows.map((r, i) => bandOf(rows, i)));
    const line = ([band, name, state, note, n], i) => {
      const now = i === last && fresh, says = n ? `${n} ${n === 1 ? "field" : "fields"}${note ? `; ${note}` : ""}` : note || state;
      const parts = name.split(/(?<=[a-z])(?=[A-Z])/).flatMap((w) => [h("wbr"), w]);
      return [h("tr", { class: state + (now ? " now" : "") }, h("th", { scope: "row", class: "st" }, h("span", { "aria-hidden": "true" }, SIGN[state] + " "), parts),
        h("td", null, says)), now && Object.values(S.diff).map(diff), now && S.more > 0 && h("tr", { class: "d" }, h("td", { colspan: 2 }, `and ${S.more} more`))];
    };
    const diff = ([path, old, now]) => h("tr", { class: "d" }, h("td", { colspan: 2 }, `${path}: `,
      old !== null && h("del", null, old), old !== null && now !== null && " \u2192 ", now !== null ? h("ins", null, old === null ? `+ ${now}` : now) : h("span", null, " (gone)")));
    const body = BANDS.map(([title, [band]], b) => {
      const mine = rows.map((r, i) => [r, i]).filter(([, i]) => bandOf(rows, i) === b), passed = S.passed[band];
      const quiet = passed && b !== 0 && b !== 2 && h("tr", null, h("td", { colspan: 2, class: "st off" }, `nothing to say: ${passed}`));
      const none = !mine.length && !quiet && h("tr", null, h("td", { colspan: 2, class: "st off" }, S.answer && !S.answer.startsWith("201") && b > reach ? "never reached" : b > reach ? "\u00b7" : "nothing to do"));
      return [h("tr", { class: "band" }, h("th", { scope: "colgroup", colspan: 2 }, title)), mine.map(([r, i]) => line(r, i)), quiet, none];
    });
    host.replaceChildren(h("table", { class: "adm" }, h("caption", { class: "vh" }, S.what), h("tbody", null,
      h("tr", null, h("td", { colspan: 2 }, "create ", h("b", null, S.what))), body,
      S.answer && h("tr", { class: "end" }, h("td", { colspan: 2 }, `Answer: ${S.answer}`,
        S.warnings > 0 && `, with ${S.warnings} ${S.warnings === 1 ? "warning" : "warnings"}`)))));
  } };
  // the object's rows come twice: before mutating admission, and after it
  function bandOf(rows, i) {
    const band = rows[i][0];
    if (band !== "object") return { mutating: 1, validating: 3, store: 4 }[band];
    return rows[i][1] === "Defaults" || (i === 0 && rows[i][1] !== "Preparing" && rows[i][1] !== "Validation") ? 0 : 2;
  }
} });
