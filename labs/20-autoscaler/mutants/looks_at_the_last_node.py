"""Next fit: what is free on the nodes before is never used."""

KILLED_BY = "packs-the-largest-first"
CAUSE = "next-fit"
CHANGES = (
    (
        "in enumerate(free) if pod",
        "in enumerate(free) if i == len(free) - 1 and pod",
    ),
)
