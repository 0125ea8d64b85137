"""A gang is sent back when its youngest member has waited long enough."""

KILLED_BY = "waits-end"
CAUSE = "never-ends"
CHANGES = (
    (
        "        late = {gang for gang, since in self.waits.values() if now_ms - since >= self.wait_ms}",
        (
            "        young = {gang: since for gang, since in self.waits.values()}  # the last one stays\n"
            "        late = {gang for gang, since in young.items() if now_ms - since >= self.wait_ms}"
        ),
    ),
)
