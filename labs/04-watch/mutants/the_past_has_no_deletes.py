"""sync hands a watch of one key its puts alone; notify hands it deletes as well."""

KILLED_BY = "replays-the-past"
CAUSE = "loses-a-delete"
CHANGES = (
    (
        "            wanted = watcher.wanted(events)\n            if wanted and",
        "            wanted = watcher.wanted(events)\n"
        "            wanted = [one for one in wanted if one[1] or watcher.end]\n            if wanted and",
    ),
)
