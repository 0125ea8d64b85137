"""The minimum counts from the beginning."""

KILLED_BY = "crosses-below"
CAUSE = "always-minimum"
CHANGES = (
    (
        '        if one["name"] in before:\n',
        "        if True:\n",
    ),
)
