"""An answer that comes in the last millisecond counts as too late."""

KILLED_BY = "fails-open-or-closed"
CAUSE = "on-time"
CHANGES = (('answer["took"] > hook["timeout"]', 'answer["took"] >= hook["timeout"]'),)
