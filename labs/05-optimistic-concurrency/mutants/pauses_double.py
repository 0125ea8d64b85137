"""The pauses grow as for a broken server. A conflict is no outage: whoever was faster is through already."""

KILLED_BY = "waits-between-tries"
CAUSE = "grows"
CHANGES = (
    (
        "        await sleep(delay_ms)\n",
        "        await sleep(delay_ms)\n        delay_ms *= 2\n",
    ),
)
