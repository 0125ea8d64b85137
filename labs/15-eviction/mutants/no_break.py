"""A break is not noticed: the clock runs on from the first time."""

KILLED_BY = "waits-out-the-grace"
CAUSE = "no-break"
CHANGES = (
    (
        "    fresh = {name: since.get(name, now) for name in names}\n",
        "    fresh = {**since, **{name: since.get(name, now) for name in names}}\n",
    ),
    (
        "        if name in fresh and now",
        "        if name in names and now",
    ),
)
