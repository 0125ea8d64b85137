"""All addresses are taken from the first range set."""

KILLED_BY = "no-address-twice"
CAUSE = "outside"
CHANGES = (
    (
        "self.take(key, number, ranges[0])",
        'self.take(key, number, config["ranges"][0][0])',
    ),
)
