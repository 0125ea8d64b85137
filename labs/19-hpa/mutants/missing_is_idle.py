"""What is not measured is zero: an outage of metrics is a scale-down."""

KILLED_BY = "counts-the-missing"
CAUSE = "zero"
CHANGES = (
    (
        "        counted += [max(100, target)] * missing\n",
        "        counted += [0] * missing\n",
    ),
)
