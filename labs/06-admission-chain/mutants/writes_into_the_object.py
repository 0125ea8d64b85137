"""The patch is written into the object that was handed over."""

KILLED_BY = "one-after-the-other"
CAUSE = "changes"
CHANGES = (
    (
        '                obj = {**obj, "labels": labels}\n',
        '                obj["labels"].update(patch)\n',
    ),
)
