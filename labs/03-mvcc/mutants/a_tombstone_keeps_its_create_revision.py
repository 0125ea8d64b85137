"""The record of a delete says when the key was created, as that of a put does."""

KILLED_BY = "compaction-keeps-every-change-since"
CAUSE = "tombstone-has-numbers"
CHANGES = (
    (
        'KeyValue(kv.key, "", 0, self.revision, 0)',
        'KeyValue(kv.key, "", kv.create_revision, self.revision, 0)',
    ),
)
