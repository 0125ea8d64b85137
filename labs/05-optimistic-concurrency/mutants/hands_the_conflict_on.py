"""No second try: every conflict is an error in somebody's log, and somebody's job failed for a millisecond."""

KILLED_BY = "retries-only-conflicts"
CAUSE = "no-retry"
CHANGES = (
    (
        "            if tried >= steps:\n                raise\n        await sleep(delay_ms)\n",
        "            raise\n",
    ),
)
