"""The places are given back, the count is not: a later Pod starts alone."""

KILLED_BY = "no-stale-counts"
CAUSE = "stale"
CHANGES = (
    (
        "        back = self.of_gang(gang)\n",
        (
            "        back = self.of_gang(gang)\n"
            "        self.ghosts = getattr(self, 'ghosts', {})\n"
            "        self.ghosts[gang] = self.ghosts.get(gang, 0) + len(back)\n"
        ),
    ),
    (
        "        if self.count(gang) < need:",
        "        if self.count(gang) + getattr(self, 'ghosts', {}).get(gang, 0) < need:",
    ),
)
