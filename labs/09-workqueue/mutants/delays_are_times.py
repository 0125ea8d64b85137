"""The delay itself is kept as the due time: right at time 0, wrong ever after."""

KILLED_BY = "earliest-wins"
CAUSE = "early"
CHANGES = (
    (
        "            due_ms = now_ms + delay_ms",
        "            due_ms = delay_ms",
    ),
)
