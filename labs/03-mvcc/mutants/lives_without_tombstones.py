"""generations lists the puts alone."""

KILLED_BY = "generations"
CAUSE = "other-lives"
CHANGES = (
    (
        "[list(life) for life in",
        "[[one for one in life if self.backend[one, key].version] for life in",
    ),
)
