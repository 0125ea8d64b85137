"""When every address is taken the search begins anew: it does not end."""

KILLED_BY = "says-it-is-full"
CAUSE = "raised"
CHANGES = (
    (
        'raise CNIError(f"failed to allocate for range {number}: no IP addresses available")',
        "return self.take(key, number, given)",
    ),
)
