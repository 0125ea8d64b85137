// The Stepper: an ordered list of step numbers is all there is to navigation. `all`, `main` (the story) and `why`
// (the causes of a step) are such lists, driven by the same controls. Runs live in Jupyter and in a page on its own.
const ICON = {
  back: "M12 3L5 8l7 5zM3.5 3v10", next: "M4 3l7 5-7 5zM12.5 3v10", play: "M4 2.5L13 8l-9 5.5z",
  pause: "M5 3v10M11 3v10", reset: "M3.2 8a4.8 4.8 0 1 0 1.6-3.6M3.2 1.8v3.4h3.4",
};
const glyph = (n) => s("svg", { width: 16, height: 16, viewBox: "0 0 16 16", "aria-hidden": "true" }, s("path", {
  d: ICON[n], fill: n === "pause" || n === "reset" ? "none" : "currentColor", stroke: "currentColor",
  "stroke-width": n === "pause" ? 3 : 1.6, "stroke-linejoin": "round",
}));
const LEAST = 132; // pixels that the details keep

export default { render({ model, el }) {
  el.dataset.lmSuppressShortcuts = "true"; // JupyterLab: leave the keys to us
  const shadow = el.attachShadow({ mode: "open" });
  const live = model.get("live") && !model.isStatic;
  const $ = {};
  let trace, states, seqAt, laneOf, view, timer, waiting;
  let i = 0, order = [], main = true, why = null, speed = 1, pin = "", width = 0, rows = [];
  const ctx = { go, causeIn, shownSeq, ancestors, ask, role: (k) => laneOf[trace.steps[k].actor].role };

  function load() {
    const text = model.get("trace");
    trace = typeof text === "string" ? JSON.parse(text) : text;
    states = expand(trace);
    seqAt = new Map(trace.steps.map((x, k) => [x.seq, k]));
    laneOf = Object.fromEntries(trace.lanes.map((l) => [l.id, l]));
    const timeless = !live && trace.steps.every((x) => x.t === trace.steps[0].t); // nothing takes time
    Object.assign(ctx, { trace, steps: trace.steps, timeless, time: timeless ? () => "" : ms });
    const n = trace.steps.filter((x) => x.level === 1).length;
    $.lm.textContent = `main ${n}`;
    $.la.textContent = `all ${trace.steps.length}`;
    $.lvl.hidden = !n || n === trace.steps.length;
  }
  function reorder(keep) {
    const all = trace.steps.map((_, k) => k);
    const listed = (k) => !main || k === why || trace.steps[k].level === 1;
    order = (why != null ? [...ancestors(why)].sort((a, b) => a - b) : all).filter(listed);
    if (!order.length) order = all;
    if (keep != null) {
      i = order.findIndex((k) => k >= keep);
      if (i < 0) i = order.length - 1;
    }
    i = Math.min(i, order.length - 1);
    buildLog();
    buildTrack();
  }
  function ancestors(k) {
    const out = new Set();
    for (; k != null; k = seqAt.get(trace.steps[k].cause)) out.add(k);
    return out;
  }
  // the step `seq`, or its nearest cause among the steps shown
  function shownSeq(seq) {
    let c = seqAt.get(seq);
    while (c != null && !ctx.shown.has(c)) c = seqAt.get(trace.steps[c].cause);
    return c == null ? null : trace.steps[c].seq;
  }
  function causeIn(k) { return shownSeq(trace.steps[k].cause); }
  function skipped(k, c) {
    let n = 0;
    for (let q = seqAt.get(trace.steps[k].cause); q !== c; q = seqAt.get(trace.steps[q].cause)) n++;
    return n ? `, by way of ${n} smaller step${n > 1 ? "s" : ""}` : "";
  }

  const atEnd = () => i === order.length - 1;
  const canAsk = () => live && why == null && atEnd();
  function go(j, quiet) {
    i = Math.max(0, Math.min(order.length - 1, j));
    update(quiet);
  }
  function next() {
    if (!atEnd()) go(i + 1, !!timer);
    else if (canAsk()) ask();
    if (atEnd() && !live) stop();
  }
  // live: Python makes the next step, of the component `actor` if one is named
  function ask(actor) {
    if (waiting || !canAsk()) return;
    say("");
    waiting = setTimeout(() => answered("The kernel does not answer. Run the cell again to go on."), 20000);
    model.set("command", { n: Date.now(), do: "step", main: main && !actor, actor: actor ?? null });
    model.save_changes();
  }
  function answered(note) {
    clearTimeout(waiting);
    waiting = null;
    if (note) { stop(); say(note); }
  }
  function say(note) { $.note2.textContent = note; $.note2.hidden = !note; }
  function stop() {
    clearInterval(timer);
    timer = null;
    drawPlay();
    $.txt.setAttribute("aria-live", "polite");
  }
  function play() {
    if (timer) { stop(); return update(); }
    if (atEnd() && !canAsk()) i = 0;
    $.txt.setAttribute("aria-live", "off"); // a running film must not flood a screen reader
    timer = setInterval(next, 1100 / speed);
    drawPlay();
    next();
  }
  function faster() {
    speed = speed === 4 ? .5 : speed * 2;
    const l = `${speed === .5 ? "\u00bd" : speed}\u00d7`;
    $.speed.textContent = l;
    $.speed.setAttribute("aria-label", "Speed " + l);
    if (timer) { clearInterval(timer); timer = setInterval(next, 1100 / speed); }
  }
  function toggleWhy() {
    const k = order[i];
    why = why == null ? k : null;
    reorder(k);
    update();
  }
  // why is the object in the inspector as it is: the causes of its last change
  function whyObject() {
    let k = order[i];
    const at = (j) => (j < 0 ? trace.state0 : states[j]).objects[lastShown];
    while (k > 0 && at(k) === at(k - 1)) k--;
    pin = lastShown;
    why = k;
    reorder(k);
    update();
  }
  function reset() {
    stop();
    why = null;
    i = 0;
    pin = "";
    reorder();
    update();
  }
  function level(m) {
    main = m;
    reorder(order[i]);
    update();
  }
  function details(d) {
    $.det.classList.toggle("obj", d === "obj");
    $.det.classList.toggle("log", d === "log");
    $.do.setAttribute("aria-pressed", String(d === "obj"));
    $.dl.setAttribute("aria-pressed", String(d === "log"));
    if (width) update(true);
  }
  function drawPlay() {
    const l = timer ? "Pause" : "Play";
    $.play.replaceChildren(glyph(l.toLowerCase()));
    name($.play, l);
  }
  function name(node, label) {
    node.setAttribute("aria-label", label);
    node.title = label;
  }
  function keys(e) {
    e.stopPropagation();
    const at = e.target;
    if (e.ctrlKey || e.metaKey || e.altKey || at.matches("select")) return;
    const act = {
      ArrowRight: next, ArrowLeft: () => go(i - 1), Home: () => go(0), End: () => go(order.length - 1),
      " ": !at.matches("button") && play, w: toggleWhy, Escape: () => why != null && toggleWhy(),
    }[e.key];
    if (!act) return;
    e.preventDefault();
    if (e.key !== " " && timer) stop();
    act();
  }

  const btn = (key, label, on, ...kids) =>
    ($[key] = h("button", { type: "button", "aria-label": label, title: label, onclick: on }, ...kids));
  const plain = (key, on, text) => ($[key] = h("button", { type: "button", onclick: on }, text));
  const seg = (label, cls, ...kids) => h("div", { class: "seg " + cls, role: "group", "aria-label": label }, ...kids);
  const pane = (cls, head, body) => h("div", { class: "pane " + cls }, head, body);
  const scroll = (cls, label, ...kids) =>
    h("div", { class: "scroll " + cls, tabindex: 0, role: "group", "aria-label": label }, ...kids);
  // a click beside the controls makes the keys work
  const near = (e) => e.target.closest("button, input, select, a, .scroll") || $.stage.focus({ preventScroll: true });
  const root = h("section", { class: "k", tabindex: -1, onkeydown: keys, onpointerdown: near },
    h("header", null, $.title = h("p", { class: "title" }), $.tabs = seg("Picture", ""),
      $.lvl = seg("How many steps", "", plain("lm", () => level(true)), plain("la", () => level(false)))),
    $.stage = h("div", { class: "stage", tabindex: -1 }),
    h("div", { class: "sub" },
      h("div", { class: "when" }, $.t = h("b"), $.pos = h("span"), $.ev = h("span", { class: "ev" }), $.kind = h("span", { class: "kind" })),
      h("div", null, $.txt = h("p", { class: "txt", role: "status", "aria-live": "polite", "aria-atomic": "true" }),
        $.bec = h("p", { class: "bec" }))),
    h("div", { class: "ctl", role: "group", "aria-label": "Stepper controls" },
      btn("back", "Back one step", () => go(i - 1), glyph("back")),
      btn("next", "Next step", next, glyph("next")),
      btn("play", "Play", play, glyph("play")),
      h("div", { class: "track" }, $.bars = s("svg", { "aria-hidden": "true", preserveAspectRatio: "none" }),
        $.range = h("input", { type: "range", min: 0, step: 1, "aria-label": "Step",
          oninput: () => go(+$.range.value, true), onchange: () => update() })),
      btn("speed", "Speed 1\u00d7", faster, "1\u00d7"),
      btn("why", "Why? Walk back to the cause", toggleWhy, "why?"),
      btn("reset", "Reset to the first step", reset, glyph("reset"))),
    $.note2 = h("p", { class: "rdy", role: "status", hidden: true }),
    $.rdy = h("div", { class: "rdy", role: "group", "aria-label": "Who acts next" }),
    $.det = h("div", { class: "det" },
      seg("Details", "dt", plain("do", () => details("obj"), "Object"), plain("dl", () => details("log"), "Log")),
      $.po = pane("po", h("div", { class: "ph" },
        $.pin = h("select", { "aria-label": "Object shown", onchange: () => { pin = $.pin.value; update(); } }),
        $.note = h("span"), plain("wo", whyObject, "why so?")),
        $.yaml = scroll("yaml", "Object, changes marked")),
      pane("pl", $.ph = h("div", { class: "ph" }), $.sc = scroll("", "Event log", $.log = h("ol")))));
  $.next.classList.add("main");
  $.why.classList.add("y");
  name($.wo, "Why so? Walk back from the last change of this object");

  function buildLog() {
    ctx.shown = new Set(order);
    Object.assign(ctx, { order, why });
    rows = order.map((k, j) => {
      const st = trace.steps[k];
      return h("li", { onclick: () => go(j) }, h("span", { class: "n" }, ctx.timeless ? k + 1 : ms(st.t)),
        h("span", { class: "icon" }, icon(ctx.role(k), st.kind)),
        h("span", null, trace.state0.objects ? st.label : st.text));
    });
    $.log.replaceChildren(...rows);
  }
  function buildTrack() {
    const n = order.length;
    $.range.max = n - 1;
    $.bars.setAttribute("viewBox", `0 0 ${n} 8`);
    $.bars.replaceChildren(...order.map((k, j) =>
      s("rect", { x: j + .1, width: .8, height: 8, fill: ROLES[ctx.role(k)][0] })));
  }
  function mountView(shown) {
    view = VIEWS[shown].mount($.stage, ctx);
    $.tabs.replaceChildren(...trace.views.map((v) => h("button", {
      type: "button", "aria-pressed": String(v === shown), onclick: () => { mountView(v); update(); },
    }, VIEWS[v].label)));
    $.tabs.hidden = trace.views.length < 2;
  }

  // Draws the current step. `quiet`: the kernel need not know yet.
  function update(quiet) {
    if (!width) return;
    const k = order[i], st = trace.steps[k], walk = why != null, start = performance.now();
    const before = i ? states[order[i - 1]] : k ? states[k - 1] : trace.state0;
    Object.assign(ctx, { i, width: width - (width < 560 ? 16 : 24), state: states[k], before, live: canAsk() });
    root.classList.toggle("why", walk);
    const causes = order.length - 1, what = main ? "event" : "step"; // of a walk the last one is what it asks about
    $.title.textContent = walk ? `Why ${what} ${why + 1}? ${causes || "no"} ${main ? "main " : ""}cause${causes === 1 ? "" : "s"}` : trace.title;
    root.setAttribute("aria-label", `Stepper: ${trace.title}`);
    $.lm.setAttribute("aria-pressed", String(main));
    $.la.setAttribute("aria-pressed", String(!main));
    view.update();
    root.style.setProperty("--h", `${Math.max(560, 166 + LEAST + $.stage.offsetHeight)}px`);
    $.t.textContent = ctx.timeless ? "" : `t = ${ms(st.t)} ms`;
    const at = `${i + 1} of ${order.length}`;
    $.pos.textContent = !walk ? `${main ? "" : "step "}${at}` : i < causes ? `cause ${i + 1} of ${causes}` : `the ${what} itself`;
    $.ev.textContent = main && !walk ? `event ${k + 1}` : "";
    $.kind.replaceChildren(icon(ctx.role(k), st.kind), (MARKS[st.kind] ?? [0, st.kind])[1]);
    $.txt.textContent = st.text;
    because(k, st);
    $.range.value = i;
    $.range.setAttribute("aria-valuetext", walk ? $.pos.textContent : at);
    $.back.setAttribute("aria-disabled", String(i === 0));
    $.next.setAttribute("aria-disabled", String(atEnd() && !canAsk()));
    $.why.classList.toggle("main", walk);
    name($.why, walk ? "Leave the why walk" : "Why? Walk back to the cause");
    $.why.textContent = walk ? "leave" : "why?";
    choices();
    log();
    inspect(k, st);
    if (model.get("index") !== k) {
      model.set("index", k);
      if (!quiet) model.save_changes();
    }
    root.dataset.ms = (performance.now() - start).toFixed(2);
  }
  function because(k, st) {
    const link = (q) => h("button", { type: "button", onclick: () => jump(q) },
      `${laneOf[trace.steps[q].actor].label}: ${trace.steps[q].label}`);
    const c = seqAt.get(causeIn(k));
    const more = (st.also ?? []).map((q) => seqAt.get(q)).filter((q) => q != null && q !== c);
    $.bec.replaceChildren(...(c == null
      ? [ctx.role(k) === "you" ? "You did this: no cause inside the simulation." : "Nothing earlier shown here caused it."]
      : ["because ", link(c), skipped(k, c)]), ...more.slice(0, 2).flatMap((q) => [", also ", link(q)]),
      more.length > 2 ? ` and ${more.length - 2} more` : "");
  }
  // to a step that the list may not hold
  function jump(k) {
    if (!ctx.shown.has(k)) { why = null; main = false; reorder(k); }
    go(order.indexOf(k));
  }
  function choices() {
    const ready = ctx.live ? trace.ready ?? [] : [];
    $.rdy.hidden = !live;
    $.rdy.replaceChildren("Who acts next? ", ...ready.map(([l, what]) => h("button", { type: "button", onclick: () => ask(l) },
      laneOf[l].label, " ", h("small", null, what))),
      ready.length ? "" : ctx.live ? "Nobody is ready: next lets time pass." : "Go to the last step to choose.");
  }
  function log() {
    const walk = why != null;
    rows.forEach((r, j) => {
      r.hidden = !walk && j > i;
      if (j === i) r.setAttribute("aria-current", "step");
      else r.removeAttribute("aria-current");
    });
    $.ph.textContent = walk ? "Why: from the first cause down" : "Log";
    if (trace.cut && atEnd() && !walk) $.ph.textContent = `Log (${trace.cut} later steps are not shown)`;
    // whole rows only
    const r = rows[i], room = $.sc.clientHeight, need = r.offsetTop + r.offsetHeight - room + 4;
    const all = $.log.offsetHeight - 36 - room;
    const want = walk ? Math.max(need, Math.min(r.offsetTop - room / 2, all)) : need;
    $.sc.scrollTop = rows.find((q) => !q.hidden && q.offsetTop >= want)?.offsetTop ?? 0;
  }
  let lastShown = null;
  function inspect(k, st) {
    const objs = ctx.state.objects;
    $.po.hidden = !objs;
    $.det.classList.toggle("one", !objs);
    if (!objs) return;
    const names = Object.keys(objs).sort(), sig = names.join();
    if ($.pin.dataset.sig !== sig) {
      $.pin.dataset.sig = sig;
      $.pin.replaceChildren(h("option", { value: "" }), ...names.map((n) => h("option", { value: n }, short(n))));
    }
    $.pin.value = names.includes(pin) ? pin : "";
    let shown = objs[pin] ? pin : null; // else the object of this step, or of the last one that had one
    for (let j = i; j >= 0 && !shown; j--) {
      const focus = trace.steps[order[j]].focus;
      if (objs[focus]) shown = focus;
    }
    lastShown = shown;
    $.pin.options[0].textContent = shown && !pin ? short(shown) : "follow the step";
    $.wo.hidden = !shown;
    if (!shown) {
      $.yaml.replaceChildren(h("div", null, "no object yet"));
      $.note.textContent = "";
      return;
    }
    const a = ctx.before.objects[shown], out = lines(a ?? {}, objs[shown], 0, []), reads = st.reads ?? [];
    const n = out.filter((x) => x.st).length, hit = (x) => x.st && x.path !== "metadata.resourceVersion";
    // what it looked at, what changed, or what changed last
    let want = (shown === st.focus && reads[0]) || out.find(hit)?.path;
    for (let j = k; a && !want && j > 0; j--) {
      const p = states[j - 1].objects[shown];
      if (!p) break;
      if (p !== states[j].objects[shown]) want = lines(p, states[j].objects[shown], 0, []).find(hit)?.path;
    }
    $.note.textContent = !a ? "new" : n ? `${n} changed` : "";
    let first;
    $.yaml.replaceChildren(...out.map((x) => {
      const d = h("div", { class: (a ? x.st : "") + (reads.includes(x.path) ? " rd" : "") },
        "  ".repeat(x.depth) + x.lead, x.old != null && h("del", null, x.old),
        x.val != null && h(x.st === "chg" ? "b" : "span", null, x.val));
      if (x.path === want) first = d;
      return d;
    }));
    $.yaml.scrollTop = first ? Math.max(0, first.offsetTop - 36) : 0;
    $.yaml.scrollTop -= $.yaml.scrollTop % 18; // whole lines
  }
  const short = (n) => n.replace("/default/", "/");

  const onTrace = () => {
    const k = order[i], end = atEnd() && why == null;
    answered();
    load();
    reorder(k);
    if (end && !atEnd()) i = order.length - 1;
    update();
  };
  const onStatus = () => answered(model.get("status"));
  const onIndex = () => {
    const k = model.get("index");
    if (k === order[i] || !trace.steps[k]) return;
    if (ctx.shown.has(k)) i = order.indexOf(k);
    else { why = null; main = main && trace.steps[k].level === 1; reorder(k); }
    update(true);
  };
  const ro = new ResizeObserver(([e]) => {
    const w = Math.floor(e.contentRect.width);
    if (!w || w === width) return;
    width = w;
    root.classList.toggle("narrow", w < 560);
    update(true);
  });
  load();
  main = !$.lvl.hidden && trace.steps.length > 40;
  i = Math.max(0, model.get("index") ?? 0);
  reorder(i);
  shadow.append(h("style", null, CSS, ...trace.views.map((v) => VIEWS[v].css ?? "")), root);
  mountView(trace.views[0]);
  details("obj");
  const unfollow = followTheme(root);
  ro.observe(root);
  const on = { "change:trace": onTrace, "change:status": onStatus, "change:index": onIndex };
  for (const [n, f] of Object.entries(on)) model.on(n, f);
  return () => {
    stop();
    unfollow();
    ro.disconnect();
    for (const [n, f] of Object.entries(on)) model.off(n, f);
  };
} };
