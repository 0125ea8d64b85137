// The Quiz: questions with one or several right options; after an answer every option explains itself.
let quizzes = 0;
// a few marks of Markdown: `code`, *emphasis*, **strong emphasis**
const rich = (text) => text.trim().split(/(`[^`]+`|\*\*[^*]+\*\*|\*[^*\s][^*]*\*)/).map((part) =>
  part[0] === "`" && part.length > 2 ? h("code", null, part.slice(1, -1))
    : part.startsWith("**") && part.length > 4 ? h("strong", null, part.slice(2, -2))
      : part[0] === "*" && part.length > 2 ? h("em", null, part.slice(1, -1)) : part);
const paragraphs = (text) => text.trim().split(/\n\s*\n/).map((p) => h("p", null, rich(p)));

export default { render({ model, el }) {
  el.dataset.lmSuppressShortcuts = "true";
  const shadow = el.attachShadow({ mode: "open" });
  const bank = JSON.parse(model.get("bank")), all = bank.questions, id = `q${++quizzes}`;
  const right = (q, ticked) => q.options.every((o, n) => o.correct === ticked.includes(n));
  const score = h("span", { class: "mute" });
  const shown = new Map();
  const root = h("div", { class: "k", role: "group", "aria-label": `Quiz: ${bank.title}`, onkeydown: (e) => e.stopPropagation() },
    h("div", { class: "head" }, h("b", null, bank.title), score), all.map(question));

  function question(q, n) {
    const many = q.options.filter((o) => o.correct).length > 1 || q.multiple;
    const inputs = q.options.map((_, k) => h("input", {
      type: many ? "checkbox" : "radio", name: `${id}-${n}`, id: `${id}-${n}-${k}`,
    }));
    const notes = q.options.map((o, k) => h("p", { class: "ex", id: `${id}-${n}-${k}-x`, hidden: true },
      h("b", null, o.correct ? "Right. " : "Wrong. "), rich(o.explanation)));
    const rows = q.options.map((o, k) => h("div", { class: "o" },
      h("label", null, inputs[k], h("span", null, rich(o.text))), notes[k]));
    const says = h("p", { role: "status" });
    const hint = q.hint && h("details", null, h("summary", null, "A hint"), paragraphs(q.hint));
    const proof = h("details", { hidden: true }, h("summary", null, "The code that decides it"), h("pre", { tabindex: 0 }, q.evidence.trim()));
    const check = h("button", { type: "button", class: "go", onclick: answer }, "Check");
    const retry = h("button", { type: "button", hidden: true, onclick: again }, "Try again");
    const box = h("fieldset", null, h("legend", null, paragraphs(q.question)),
      h("div", null, many && h("p", { class: "many" }, "Choose all that hold."), rows),
      h("div", { class: "row" }, check, retry, says), hint, proof);

    function answer() {
      const ticked = inputs.flatMap((x, k) => (x.checked ? [k] : []));
      if (!ticked.length) return void (says.textContent = "Choose an option first.");
      model.set("chosen", { ...model.get("chosen"), [q.id]: ticked });
      model.save_changes();
      show(ticked);
      retry.focus();
    }
    function show(ticked) {
      const done = ticked != null;
      box.classList.toggle("done", done);
      inputs.forEach((x, k) => {
        if (done) x.checked = ticked.includes(k);
        x.disabled = done;
        x.toggleAttribute("aria-describedby", false);
        if (done) x.setAttribute("aria-describedby", notes[k].id);
        notes[k].hidden = !done;
        rows[k].classList.toggle("right", done && q.options[k].correct);
        rows[k].classList.toggle("wrong", done && !q.options[k].correct && x.checked);
      });
      check.hidden = done;
      if (hint) hint.hidden = done;
      retry.hidden = proof.hidden = !done;
      const ok = done && right(q, ticked), good = done && ticked.some((k) => q.options[k].correct);
      says.textContent = !done ? "" : ok ? "Right." : good ? "Partly: see which hold and why." : "Not so: see why.";
      tally();
    }
    function again() {
      const rest = { ...model.get("chosen") };
      delete rest[q.id];
      model.set("chosen", rest);
      model.save_changes();
      for (const x of inputs) x.checked = false;
      show(null);
      inputs[0].focus();
    }
    shown.set(q.id, show);
    return box;
  }
  function tally() {
    const chosen = model.get("chosen") ?? {}, given = all.filter((q) => chosen[q.id]);
    score.textContent = given.length ? `${given.filter((q) => right(q, chosen[q.id])).length} of ${all.length} right`
      : all.length > 1 ? `${all.length} questions` : "";
  }
  const sync = () => {
    for (const q of all) shown.get(q.id)(model.get("chosen")?.[q.id] ?? null);
  };
  shadow.append(h("style", null, CSS), root);
  sync();
  const unfollow = followTheme(root);
  model.on("change:chosen", sync);
  return () => {
    unfollow();
    model.off("change:chosen", sync);
  };
} };
