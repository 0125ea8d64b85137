"""What comes back is what `put` answers, and that is nothing."""

KILLED_BY = "writes-what-it-computed"
CAUSE = "no-result"
CHANGES = (("        return new\n", "        return None\n"),)
