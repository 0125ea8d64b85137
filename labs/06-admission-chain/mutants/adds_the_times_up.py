"""Validating webhooks are waited for one after the other."""

KILLED_BY = "asks-all-at-once"
CAUSE = "adds-up"
CHANGES = (
    (
        "        return None, max(times)\n",
        "        return None, sum(times)\n",
    ),
    (
        "key=lambda one: one[0])[1], max(times)",
        "key=lambda one: one[0])[1], sum(times)",
    ),
)
