"""A break does not begin anew."""

KILLED_BY = "waits-its-time"
CAUSE = "break"
CHANGES = (
    (
        "{name: since.get(name, now) for name in unneeded}",
        "{**since, **{name: since.get(name, now) for name in unneeded}}",
    ),
)
