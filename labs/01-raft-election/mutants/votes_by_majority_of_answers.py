"""It leads as soon as more than half of those who answered said yes: a minority that is cut off elects itself."""

KILLED_BY = "no-leader-in-a-minority"
CAUSE = "minority"
CHANGES = (
    (
        "2 * len(self.votes) > len(self.others) + 1",
        "len(self.votes) > 1 or not self.others",
    ),
)
