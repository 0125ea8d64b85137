"""The version belongs to the key: a read of the past shows that of now."""

KILLED_BY = "the-past-stays"
CAUSE = "version-of-now"
CHANGES = (
    (
        "                return kv if kv.version else None\n",
        "                version = self.backend[life[-1], key].version or kv.version\n"
        "                return kv._replace(version=version) if kv.version else None\n",
    ),
)
