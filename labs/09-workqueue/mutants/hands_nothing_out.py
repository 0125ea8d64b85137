"""Keys are taken in and counted, and `get` has none for anybody."""

KILLED_BY = "counts-what-waits"
CAUSE = "hidden-item"
CHANGES = (
    (
        "        if not self.queue:",
        "        if self.queue is not None:",
    ),
)
