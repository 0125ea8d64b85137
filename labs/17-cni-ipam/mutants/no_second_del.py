"""DEL of what is not there is an error: the runtime asks again for ever, and the Pod never goes."""

KILLED_BY = "gives-back"
CAUSE = "del-fails"
CHANGES = (
    (
        "            del self.files[name]",
        '            del self.files[name]\n            key = ""\n        if key:\n            raise CNIError(key)',
    ),
)
