"""An interval holds its end too."""

KILLED_BY = "intervals"
CAUSE = "outside"
CHANGES = (
    (
        "key <= name < end",
        "key <= name <= end",
    ),
)
