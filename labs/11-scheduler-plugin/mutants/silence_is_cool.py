"""No report is taken for no problem."""

KILLED_BY = "silence-is-a-no"
CAUSE = "missing-accepted"
CHANGES = (
    (
        '            return Status(Code.UNSCHEDULABLE, "node(s) had no recent GPU temperature")',
        "            return SUCCESS",
    ),
    (
        "        return self.most - self.celsius(node.node)",
        "        return self.most - (self.celsius(node.node) or self.most)",
    ),
)
