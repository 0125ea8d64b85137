"""The last address is never given: a range of Python's ends before its end."""

KILLED_BY = "knows-its-addresses"
CAUSE = "missing"
CHANGES = (
    (
        "range(int(first), int(last) + 1)",
        "range(int(first), int(last))",
    ),
)
