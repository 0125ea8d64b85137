"""A refusal deletes what is in the way at once.

A late message of this leader, from before its log was known to fit, can take away what was confirmed.
"""

KILLED_BY = "refuses-what-does-not-fit"
CAUSE = "changes-and-refuses"
CHANGES = (
    (
        "            return False, self.begin_here(prev_index)\n",
        "            begin = self.begin_here(prev_index)\n"
        "            del self.entries[begin - 1 :]\n"
        "            self.disk.save(self.entries)\n"
        "            return False, begin\n",
    ),
)
