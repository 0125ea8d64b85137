""".10 before .2: the addresses are sorted as texts."""

KILLED_BY = "knows-its-addresses"
CAUSE = "order"
CHANGES = (
    (
        "return [str(one) for one in map(type(first), numbers) if one != gateway]",
        "return sorted(str(one) for one in map(type(first), numbers) if one != gateway)",
    ),
)
