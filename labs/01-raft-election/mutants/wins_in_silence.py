"""The new leader tells nobody until its next tick: the others may ask meanwhile."""

KILLED_BY = "leader-speaks"
CAUSE = "says-nothing"
CHANGES = (
    (
        "                return self.become_leader()\n        return None",
        "                self.become_leader()\n        return None",
    ),
)
