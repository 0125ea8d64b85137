"""With a target above 100 % a missing Pod still counts as 100 %, and pulls down."""

KILLED_BY = "counts-the-missing"
CAUSE = "target-on-the-way-down"
CHANGES = (
    (
        "        counted += [max(100, target)] * missing\n",
        "        counted += [100] * missing\n",
    ),
)
