"""The address is answered without the mask of its subnet."""

KILLED_BY = "answers-the-runtime"
CAUSE = "address"
CHANGES = (
    (
        '{"address": f"{address}/{subnet.prefixlen}"',
        '{"address": address',
    ),
)
