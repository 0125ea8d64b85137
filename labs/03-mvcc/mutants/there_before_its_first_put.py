"""A read of a time before a key's first put returns that put."""

KILLED_BY = "between-two-lives"
CAUSE = "from-the-future"
CHANGES = (
    (
        "        return None\n",
        "        lives = self.index.get(key)\n"
        "        return self.backend[lives[0][0], key] if lives and at < lives[0][0] else None\n",
    ),
)
