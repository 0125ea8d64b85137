// A DrillCard: one exercise at a time. The page judges by spelling; what it does not know goes to Python, if there is one.
let cards = 0;
// a few marks of Markdown: `code`, *emphasis*, **strong emphasis**
const rich = (text) => text.split(/(`[^`]+`|\*\*[^*]+\*\*|\*[^*\s][^*]*\*)/).map((part) =>
  part[0] === "`" && part.length > 2 ? h("code", null, part.slice(1, -1))
    : part.startsWith("**") && part.length > 4 ? h("strong", null, part.slice(2, -2))
      : part[0] === "*" && part.length > 2 ? h("em", null, part.slice(1, -1)) : part);
const paragraph = (text) => text.startsWith("- ")
  ? h("ul", null, text.slice(2).split("\n- ").map((item) => h("li", null, rich(item))))
  : h("p", null, rich(text));
// fenced blocks, lists and paragraphs
const blocks = (text) => text.split(/\n*(```[^]*?```)\n*/).flatMap((part) =>
  part.startsWith("```") ? h("pre", { tabindex: 0, role: "group", "aria-label": "Figures of the exercise" }, part.slice(part.indexOf("\n") + 1, -4))
    : part.trim() ? part.trim().split(/\n\s*\n/).map(paragraph) : []);
// as k8slab.drill.answers.normal
function normal(text, form) {
  text = text.replace(/[`"']/g, "").trim().replace(/\s+/g, " ");
  if (form === "exact") return text;
  text = text.toLowerCase();
  if (form === "fold") return text.replace(/^[( ]+|[).: ]+$/g, "");
  let words = text.split(/(?:[\s,;()\u2192]|-*>)+/).map((word) => word.replace(/[.:]+$/, "")).filter((word) => word && word !== "and");
  if (form.startsWith("letter") && !(words.length === 1 && ["none", "nobody", "nothing", "-"].includes(words[0]))) words = [...words.join("")];
  return (form.endsWith("set") ? [...new Set(words.sort())] : words).join(",");
}

export default { render({ model, el }) {
  el.dataset.lmSuppressShortcuts = "true";
  const shadow = el.attachShadow({ mode: "open" });
  const card = JSON.parse(model.get("card")), all = card.drills, id = `d${++cards}`;
  let at = 0, asked = 0, waiting;
  const score = h("span", { class: "mute" }), where = h("p", { class: "mute", id: `${id}-where` });
  const task = h("div", { class: "task", id: `${id}-task` }), why = h("div", { class: "why", hidden: true });
  const input = h("input", {
    id, "aria-describedby": `${id}-where ${id}-task`, type: "text", autocomplete: "off", autocapitalize: "none", spellcheck: "false", maxlength: 400,
  });
  const says = h("p", { class: "says", role: "status" });
  const button = (text, onclick) => h("button", { type: "button", onclick }, text);
  const show = button("Show the answer", () => explain(why.hidden)), back = button("Back", () => go(at - 1)), next = button("Next", () => go(at + 1));
  const form = h("form", { onsubmit: (e) => { e.preventDefault(); answer(); } },
    h("label", { for: id }, "Your answer"), input,
    h("div", { class: "row" }, h("button", { type: "submit", class: "go" }, "Check"), show, back, next));
  const root = h("div", { class: "k", role: "group", "aria-label": `Drill: ${card.title}`, onkeydown: (e) => e.stopPropagation() },
    h("div", { class: "head" }, h("b", null, card.title), score), where, task, form, says, why);

  function go(to, quiet) {
    if (to < 0 || to >= all.length) return;
    at = to;
    asked++;
    const d = all[at];
    where.textContent = `Exercise ${at + 1} of ${all.length}, level ${d.level} of 3, seed ${d.seed}`;
    task.replaceChildren(...blocks(d.question).flat());
    input.value = "";
    say("");
    explain(false);
    back.setAttribute("aria-disabled", at === 0);
    next.setAttribute("aria-disabled", at === all.length - 1);
    if (!quiet) input.focus();
  }
  function explain(open) {
    const d = all[at];
    why.hidden = !open;
    show.setAttribute("aria-expanded", open);
    show.textContent = open ? "Hide the answer" : "Show the answer";
    why.replaceChildren(h("p", null, "Answer: ", h("code", null, d.answer)), ...blocks(d.why).flat());
  }
  function say(text, right) {
    clearTimeout(waiting);
    says.className = text ? `says ${right ? "ok" : "no"}` : "says";
    says.replaceChildren(...rich(text));
  }
  function judged(right, message) {
    say(message, right);
    if (right) explain(true);
    const { seed } = all[at], tried = model.get("tried") ?? {}, tries = model.get("tries") ?? {};
    model.set("tried", { ...tried, [seed]: right || tried[seed] === true });
    model.set("tries", { ...tries, [seed]: (tries[seed] ?? 0) + 1 });
    model.save_changes();
    tally();
  }
  function answer() {
    const d = all[at], text = normal(input.value, d.form);
    if (!text) return say("Write an answer first.");
    if (d.right.includes(text)) return judged(true, "Right.");
    if (Object.hasOwn(d.wrong, text)) return judged(false, d.wrong[text]);
    const alone = () => judged(false, d.runs ? "This page cannot run your answer. Try it in the shell: `k8slab drill "
      + `${card.topic} --seed ${d.seed} --try …` + "`" : d.hint + (/set|list/.test(d.form) ? "" : " (This page compares spellings; show the answer to be sure.)"));
    if (model.isStatic) return alone();
    model.set("asked", { n: ++asked, seed: d.seed, text: input.value });
    model.save_changes();
    say("Python is looking at it.");
    waiting = setTimeout(alone, 2000);
  }
  function heard() {
    const { n, right, message, counts } = model.get("verdict");
    if (n === asked) counts ? judged(right, message) : say(message);
  }
  function tally() {
    const tried = Object.values(model.get("tried") ?? {}), tries = Object.values(model.get("tries") ?? {}).reduce((a, b) => a + b, 0);
    score.textContent = !tried.length ? `${all.length} exercises` : `${tried.filter(Boolean).length} right of ${tried.length} tried`
      + (tries > tried.length ? `, ${tries} tries` : "");
  }
  shadow.append(h("style", null, CSS), root);
  go(0, true);
  tally();
  const unfollow = followTheme(root);
  model.on("change:verdict", heard);
  return () => {
    unfollow();
    clearTimeout(waiting);
    model.off("change:verdict", heard);
  };
} };
