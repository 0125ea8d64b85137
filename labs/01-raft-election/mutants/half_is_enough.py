"""Half of the group elects: of four nodes two and two elect a leader each."""

KILLED_BY = "majority-leads"
CAUSE = "too-few"
CHANGES = (
    (
        "2 * len(self.votes) > len(self.others) + 1",
        "2 * len(self.votes) >= len(self.others) + 1",
    ),
)
