// What the widgets share: building nodes, following the page's light or dark theme.
const h = (tag, attrs, ...kids) => fill(document.createElement(tag), attrs, kids);
function fill(node, attrs, kids) {
  for (const [k, v] of Object.entries(attrs ?? {})) {
    if (k.startsWith("on")) node.addEventListener(k.slice(2), v);
    else if (v !== false && v != null) node.setAttribute(k, v === true ? "" : v);
  }
  node.append(...kids.flat(9).filter((c) => c != null && c !== false && c !== ""));
  return node;
}
// The theme comes from the book's page, from JupyterLab, or from the system. Returns the way to stop.
function followTheme(root) {
  const media = matchMedia("(prefers-color-scheme: dark)");
  const set = () => {
    const book = document.documentElement.dataset.theme;
    const lab = document.body.dataset.jpThemeLight;
    root.classList.toggle("dark", lab ? lab === "false" : book ? book === "dark" : media.matches);
  };
  const watch = new MutationObserver(set);
  for (const n of [document.documentElement, document.body]) {
    watch.observe(n, { attributes: true, attributeFilter: ["data-theme", "data-jp-theme-light"] });
  }
  media.addEventListener("change", set);
  set();
  return () => {
    watch.disconnect();
    media.removeEventListener("change", set);
  };
}
