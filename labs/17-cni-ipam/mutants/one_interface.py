"""A container gets one address, whatever interfaces it has."""

KILLED_BY = "one-each"
CAUSE = "refuses"
CHANGES = (
    (
        "        if key in self.files.values():",
        '        if any(content.startswith(f"{container}\\r") for content in self.files.values()):',
    ),
)
