"""A timer that begins with every change: it forgets a spike in its middle."""

KILLED_BY = "remembers-the-highest"
CAUSE = "cool-down"
CHANGES = (
    (
        "        self.told = [one for one in self.told if now - one[0] <= self.seconds]\n"
        "        self.told.append((now, asked))\n"
        "        return max(count for _, count in self.told)\n",
        "        if not self.told:\n"
        "            self.told = [now, asked]\n"
        "        changed, count = self.told\n"
        "        if asked > count or (asked != count and now - changed > self.seconds):\n"
        "            self.told = [now, asked]\n"
        "        return self.told[1]\n",
    ),
)
