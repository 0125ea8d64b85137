"""The entry in conflict is replaced; what followed it stays, and follows the wrong one now."""

KILLED_BY = "conflicts-go"
CAUSE = "keeps-what-follows"
CHANGES = (
    (
        "                self.entries[index - 1 :] = entries[index - prev_index - 1 :]\n",
        "                self.entries[index - 1 : index] = entries[index - prev_index - 1 : index - prev_index]\n",
    ),
    (
        "                self.disk.save(self.entries)\n                break",
        "                self.disk.save(self.entries)",
    ),
)
