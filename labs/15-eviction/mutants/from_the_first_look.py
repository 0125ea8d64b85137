"""The period counts from the first look that saw it."""

KILLED_BY = "keeps-the-pressure"
CAUSE = "from-the-first"
CHANGES = (
    (
        "        if low:\n            self.seen = now\n",
        "        if not low:\n"
        "            self.first = None\n"
        '        elif getattr(self, "first", None) is None:\n'
        "            self.first = now\n"
        "        if low:\n"
        "            self.seen = self.first\n",
    ),
)
