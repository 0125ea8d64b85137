"""A failed ADD keeps the addresses of the sets that had some: each retry of the kubelet takes one more."""

KILLED_BY = "all-or-nothing"
CAUSE = "leak"
CHANGES = (
    (
        "            self.delete(config, container, ifname)\n            raise",
        "            raise",
    ),
)
