"""The first group that helps somebody is bought."""

KILLED_BY = "buys-what-is-missing"
CAUSE = "first"
CHANGES = (
    (
        "    chosen = choose(options)\n",
        '    chosen = options[0]["group"]\n',
    ),
)
