// Read straight from the disk, a page may not fetch others: the search then lists pages without an excerpt of each.
if (location.protocol === "file:") DOCUMENTATION_OPTIONS.SHOW_SEARCH_SUMMARY = false;
// A hidden cell's summary says "Show code cell …", its label something else: a voice command would not find it.
document.addEventListener("DOMContentLoaded", () => {
  for (const summary of document.querySelectorAll("details.hide > summary[aria-label]")) summary.removeAttribute("aria-label");
});
// The browser edition is made of files that a page may only fetch from a server.
document.addEventListener("DOMContentLoaded", () => {
  const launch = document.querySelector(".k8slab-launch");
  if (launch && location.protocol === "file:") launch.textContent = "Its cells run in the browser too, when the book is served (make book) and not read from the disk.";
});
