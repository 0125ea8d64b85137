"""A Node without the label is taken for one without a constraint: a new pool without labels takes all."""

KILLED_BY = "keeps-the-skew"
CAUSE = "unlabelled"
CHANGES = (
    (
        "        return False\n",
        "        return True\n",
    ),
)
