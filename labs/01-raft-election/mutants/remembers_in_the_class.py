"""Term and vote are kept beside the nodes, not on the disk.

A test that restarts nodes in one process does not notice. A machine that loses its power does.
"""

KILLED_BY = "survives-a-crash"
CAUSE = "unsaved"
CHANGES = (
    (
        "class Node:\n",
        "class Memory:\n    saved = 0, None\n\n    def load(self):\n        return self.saved\n\n"
        "    def save(self, *both):\n        Memory.saved = both\n\n\nclass Node:\n",
    ),
    (
        "= me, others, log, disk, rng\n        self.term, self.voted_for = disk.load()",
        "= me, others, log, Memory(), rng\n        self.term, self.voted_for = self.disk.load()",
    ),
)
