// Read straight from the disk, a page may not fetch others: the search then lists pages without an excerpt of each.
if (location.protocol === "file:") DOCUMENTATION_OPTIONS.SHOW_SEARCH_SUMMARY = false;
