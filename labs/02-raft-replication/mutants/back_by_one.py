"""A refusal asks for one entry earlier, so that a hundred wrong entries cost a hundred round trips."""

KILLED_BY = "backs-up-quickly"
CAUSE = "step-by-step"
CHANGES = (
    (
        "        if prev_index > len(self.entries):\n"
        "            return len(self.entries) + 1\n"
        "        index = prev_index\n"
        "        while index > 1 and self.term_at(index - 1) == self.term_at(prev_index):\n"
        "            index -= 1\n"
        "        return index",
        "        return prev_index",
    ),
)
