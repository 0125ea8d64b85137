// Renders the anywidgets of a built page from the widget state stored in it: no kernel, no network, also over file://.
// A classic script on purpose (browsers refuse module scripts over file://). Strings that several models share stand
// once under "shared" (see book/_ext/k8slab_book.py). Sets <html data-k8slab-widgets="N"> when all N are drawn.
(() => {
  const STATE = 'script[type="application/vnd.jupyter.widget-state+json"]';
  const VIEW = 'script[type="application/vnd.jupyter.widget-view+json"]';
  const SHARED = "k8slab-shared:";
  const modules = new Map();

  function load(source) {
    if (!modules.has(source)) {
      const address = URL.createObjectURL(new Blob([source], { type: "text/javascript" }));
      modules.set(source, import(address).finally(() => URL.revokeObjectURL(address)));
    }
    return modules.get(source);
  }

  // The part of anywidget's model that a widget may use: what it sets stays in the page.
  // `isStatic` tells a widget that nobody will answer its commands.
  class Model {
    isStatic = true;
    #state;
    #listeners = new Map();
    #started;
    constructor(state) { this.#state = state; }
    get(key) { return this.#state[key]; }
    set(key, value) {
      if (typeof key === "object") {
        for (const [k, v] of Object.entries(key)) this.set(k, v);
        return;
      }
      if (this.#state[key] === value) return;
      this.#state[key] = value;
      this.#emit(`change:${key}`, value);
      this.#emit("change", value);
    }
    save_changes() {}
    send() {}
    on(names, listener) {
      for (const name of names.split(/\s+/)) {
        if (!this.#listeners.has(name)) this.#listeners.set(name, new Set());
        this.#listeners.get(name).add(listener);
      }
    }
    off(names, listener) {
      for (const name of names ? names.split(/\s+/) : [...this.#listeners.keys()]) {
        if (listener) this.#listeners.get(name)?.delete(listener);
        else this.#listeners.delete(name);
      }
    }
    start(widget) {
      this.#started ??= Promise.resolve(widget.initialize?.({ model: this, experimental: {} }));
      return this.#started;
    }
    #emit(name, value) {
      for (const listener of [...(this.#listeners.get(name) ?? [])]) listener(this, value);
    }
  }

  function models() {
    const found = new Map();
    for (const script of document.querySelectorAll(STATE)) {
      const { state = {}, shared = {} } = JSON.parse(script.textContent);
      for (const [id, { model_module, state: values }] of Object.entries(state)) {
        if (model_module !== "anywidget") continue;
        const whole = {};
        for (const [key, value] of Object.entries(values)) {
          const short = typeof value === "string" && value.startsWith(SHARED);
          whole[key] = short ? shared[value.slice(SHARED.length)] : value;
        }
        found.set(id, new Model(whole));
      }
    }
    return found;
  }

  async function draw(model, el, styled) {
    const css = model.get("_css");
    if (css && !styled.has(css)) {
      styled.add(css);
      const style = document.createElement("style");
      style.textContent = css;
      document.head.append(style);
    }
    const { default: exported } = await load(model.get("_esm"));
    const widget = typeof exported === "function" ? await exported() : exported;
    await model.start(widget);
    await widget.render?.({ model, el, experimental: {} });
  }

  async function main() {
    const known = models();
    const styled = new Set();
    let drawn = 0;
    for (const view of document.querySelectorAll(VIEW)) {
      const model = known.get(JSON.parse(view.textContent).model_id);
      if (!model) continue;
      const el = document.createElement("div");
      el.className = "k8slab-widget";
      view.after(el);
      try {
        await draw(model, el, styled);
        drawn += 1;
      } catch (error) {
        el.className = "k8slab-widget k8slab-widget-error";
        el.textContent = `This interactive figure could not be drawn: ${error}`;
        console.error(error);
      }
    }
    document.documentElement.dataset.k8slabWidgets = String(drawn);
  }

  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", main);
  else main();
})();
