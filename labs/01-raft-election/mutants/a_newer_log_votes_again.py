"""Who knows more than this node gets its vote, also when another has it already.

The first candidate may have a majority by then, and the second gets one too.
"""

KILLED_BY = "one-vote-a-term"
CAUSE = "two-votes"
CHANGES = (
    (
        "        if term < self.term or self.voted_for not in (None, candidate) or not is_new_enough:",
        "        knows_more = (last_term, last_index) > (self.log.last_term, self.log.last_index)\n"
        "        is_taken = self.voted_for not in (None, candidate) and not knows_more\n"
        "        if term < self.term or is_taken or not is_new_enough:",
    ),
)
