"""When the steps are used up the function simply ends, and returns None as if that were a result."""

KILLED_BY = "gives-up-after-its-steps"
CAUSE = "swallowed"
CHANGES = (
    (
        "            if tried >= steps:\n                raise\n",
        "            if tried >= steps:\n                return None\n",
    ),
)
