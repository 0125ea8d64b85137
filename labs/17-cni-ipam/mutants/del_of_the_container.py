"""DEL of one interface frees the addresses of all interfaces of the container."""

KILLED_BY = "gives-back"
CAUSE = "frees-others"
CHANGES = (
    (
        "for name, content in self.files.items() if content == key]",
        'for name, content in self.files.items() if content.startswith(f"{container}\\r")]',
    ),
)
