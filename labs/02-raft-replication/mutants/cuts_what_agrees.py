"""It cuts the log behind prev_index and adds what came.

A late message takes back what had been confirmed since.
"""

KILLED_BY = "agreeing-entries-stay"
CAUSE = "cuts"
CHANGES = (
    (
        "        for index, (term, _) in enumerate(entries, start=prev_index + 1):\n"
        "            if self.term_at(index) != term:\n"
        "                self.entries[index - 1 :] = entries[index - prev_index - 1 :]\n"
        "                self.disk.save(self.entries)\n"
        "                break\n",
        "        self.entries[prev_index:] = entries\n        self.disk.save(self.entries)\n",
    ),
)
