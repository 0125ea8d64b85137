"""An entry before the new ones is enough for it, of whatever term.

Two logs can then differ below an entry that they share.
"""

KILLED_BY = "refuses-what-does-not-fit"
CAUSE = "accepts-a-conflict"
CHANGES = (
    (
        "if self.term_at(prev_index) != prev_term:",
        "if self.term_at(prev_index) is None:",
    ),
)
