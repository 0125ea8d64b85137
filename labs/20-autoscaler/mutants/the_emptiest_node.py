"""A Pod goes on the emptiest of the new nodes."""

KILLED_BY = "packs-the-largest-first"
CAUSE = "emptiest"
CHANGES = (
    (
        'next((i for i, left in enumerate(free) if pod["cpu"] <= left), None)',
        'max((i for i, left in enumerate(free) if pod["cpu"] <= left), key=lambda i: free[i], default=None)',
    ),
)
