"""New entries go to the end of the log, also when they are there already."""

KILLED_BY = "agreeing-entries-stay"
CAUSE = "adds-twice"
CHANGES = (
    (
        "        for index, (term, _) in enumerate(entries, start=prev_index + 1):\n"
        "            if self.term_at(index) != term:\n"
        "                self.entries[index - 1 :] = entries[index - prev_index - 1 :]\n"
        "                self.disk.save(self.entries)\n"
        "                break\n",
        "        self.entries += entries\n        self.disk.save(self.entries)\n",
    ),
)
