"""Yes comes with the index of its last entry, although the leader has not seen that one.

The leader counts it, and commits what nobody else has.
"""

KILLED_BY = "says-how-far"
CAUSE = "claims-more"
CHANGES = (
    (
        "        return True, last_compared",
        "        return True, len(self.entries)",
    ),
)
