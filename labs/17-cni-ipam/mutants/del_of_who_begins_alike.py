"""DEL frees every container whose id begins with this one's."""

KILLED_BY = "gives-back"
CAUSE = "frees-others"
CHANGES = (
    (
        "for name, content in self.files.items() if content == key]",
        "for name, content in self.files.items() if content.startswith(container) and ifname in content]",
    ),
)
