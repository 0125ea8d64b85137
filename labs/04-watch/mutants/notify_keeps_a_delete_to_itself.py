"""notify hands a watch of one key its puts alone; sync hands it deletes as well."""

KILLED_BY = "only-its-keys"
CAUSE = "loses-a-delete"
CHANGES = (
    (
        "            wanted = watcher.wanted(events)\n            if not wanted or",
        "            wanted = watcher.wanted(events)\n"
        "            wanted = [one for one in wanted if one[1] or watcher.end]\n            if not wanted or",
    ),
)
