"""When one gang is complete every Pod that waits may go."""

KILLED_BY = "gangs-apart"
CAUSE = "others"
CHANGES = (
    (
        "        go = self.of_gang(gang)\n",
        "        go = list(self.waits)\n",
    ),
)
