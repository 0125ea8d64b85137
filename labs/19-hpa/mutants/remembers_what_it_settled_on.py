"""What it settled on is remembered: a high count keeps itself alive."""

KILLED_BY = "remembers-the-highest"
CAUSE = "decided"
CHANGES = (
    (
        "        self.told = [one for one in self.told if now - one[0] <= self.seconds]\n"
        "        self.told.append((now, asked))\n"
        "        return max(count for _, count in self.told)\n",
        "        self.told = [one for one in self.told if now - one[0] <= self.seconds]\n"
        "        count = max([asked] + [one[1] for one in self.told])\n"
        "        self.told.append((now, count))\n"
        "        return count\n",
    ),
)
