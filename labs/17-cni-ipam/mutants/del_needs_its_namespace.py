"""DEL demands a namespace: after a restart of the node no address ever comes back."""

KILLED_BY = "answers-the-runtime"
CAUSE = "del-needs-netns"
CHANGES = (
    (
        'needed += [] if command == "DEL" else ["CNI_NETNS"]',
        'needed += ["CNI_NETNS"]',
    ),
)
