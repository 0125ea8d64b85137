"""Whether CNI_PATH is there is not looked at."""

KILLED_BY = "names-what-is-wrong"
CAUSE = "status"
CHANGES = (
    (
        '"CNI_IFNAME", "CNI_PATH"]',
        '"CNI_IFNAME"]',
    ),
)
