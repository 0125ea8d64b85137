// Read straight from the disk, a page may not fetch others: the search then lists pages without an excerpt of each.
if (location.protocol === "file:") DOCUMENTATION_OPTIONS.SHOW_SEARCH_SUMMARY = false;
// A hidden cell's summary says "Show code cell …", its label something else: a voice command would not find it.
document.addEventListener("DOMContentLoaded", () => {
  for (const summary of document.querySelectorAll("details.hide > summary[aria-label]")) summary.removeAttribute("aria-label");
});
