"""The key index has one list for a key, tombstones in the middle."""

KILLED_BY = "generations"
CAUSE = "lives-run-together"
CHANGES = (
    (
        ".setdefault(key, []).append([])",
        ".setdefault(key, [[]])",
    ),
)
