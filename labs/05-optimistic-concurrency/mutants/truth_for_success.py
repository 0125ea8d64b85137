"""A result counts only if it is true: 0 and None are tried again, though the write was done."""

KILLED_BY = "returns-the-result"
CAUSE = "falsy"
CHANGES = (
    (
        "            return await attempt()\n",
        "            if result := await attempt():\n                return result\n",
    ),
)
