"""It counts answers, not voters: one vote that is delivered twice counts twice."""

KILLED_BY = "majority-leads"
CAUSE = "counts-twice"
CHANGES = (
    (
        "        self.votes = {self.me}",
        "        self.votes = [self.me]",
    ),
    (
        "            self.votes.add(voter)",
        "            self.votes.append(voter)",
    ),
)
