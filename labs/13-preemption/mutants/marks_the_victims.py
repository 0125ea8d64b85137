"""Who has to go is written into the Pods."""

KILLED_BY = "evicts-no-more-than-needed"
CAUSE = "changes"
CHANGES = (
    (
        "        victims.append(one)\n",
        '        victims.append(one)\n        one["victim"] = True\n',
    ),
)
