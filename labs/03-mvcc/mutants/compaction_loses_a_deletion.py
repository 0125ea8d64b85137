"""A tombstone at the compacted revision itself goes. A watch from that revision is allowed, and misses the delete.

etcd issue 18089, mended in 3.5.16.
"""

KILLED_BY = "compaction-keeps-every-change-since"
CAUSE = "loses-a-deletion"
CHANGES = (
    (
        "one >= before or",
        "one > before or",
    ),
)
