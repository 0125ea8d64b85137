"""When every address is taken the last one is given once more."""

KILLED_BY = "says-it-is-full"
CAUSE = "full"
CHANGES = (
    (
        'raise CNIError(f"failed to allocate for range {number}: no IP addresses available")',
        'return {"address": f"{free[-1]}/{subnet.prefixlen}", "gateway": str(subnet[1])}',
    ),
)
