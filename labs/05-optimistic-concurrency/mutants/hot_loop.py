"""No pause: five tries in one millisecond, all before the other writer is through."""

KILLED_BY = "waits-between-tries"
CAUSE = "no-pause"
CHANGES = (
    (
        "        await sleep(delay_ms)\n",
        "",
    ),
)
