"""Between two lives of a key a read returns the former one."""

KILLED_BY = "between-two-lives"
CAUSE = "tombstone-visible-in-the-past"
CHANGES = (
    (
        "                return kv if kv.version else None\n",
        "                if kv.version == 0 and at < self.revision and len(life) > 1:\n"
        "                    return self.backend[life[-2], key]\n"
        "                return kv if kv.version else None\n",
    ),
)
