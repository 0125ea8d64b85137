"""Violations are not counted: every candidate looks harmless."""

KILLED_BY = "spares-the-protected"
CAUSE = "violations"
CHANGES = (
    (
        "            violations += 1\n",
        "            violations += 0\n",
    ),
)
