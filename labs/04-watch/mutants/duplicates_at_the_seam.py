"""sync hands out what is in the history, and notify the same again when it comes late."""

KILLED_BY = "no-seam"
CAUSE = "twice"
CHANGES = (
    (
        " or revision < watcher.next_revision:",
        ":",
    ),
)
