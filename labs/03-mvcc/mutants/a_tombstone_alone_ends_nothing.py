"""Compaction leaves the tombstone alone of a life, and the next life is put into the same list."""

KILLED_BY = "compaction-forgets"
CAUSE = "lives-run-together"
CHANGES = (
    (
        "            if needed:\n                kept.append(needed)\n",
        "            if needed and kept and kept[-1] == [before]:\n                kept[-1].extend(needed)\n"
        "            elif needed:\n                kept.append(needed)\n",
    ),
)
