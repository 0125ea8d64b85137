"""A range that is full answers with code 11, try again later: so the runtime does."""

KILLED_BY = "says-it-is-full"
CAUSE = "code"
CHANGES = (
    (
        'raise CNIError(f"failed to allocate for range {number}: no IP addresses available")',
        'raise CNIError(f"failed to allocate for range {number}: no IP addresses available", 11)',
    ),
)
