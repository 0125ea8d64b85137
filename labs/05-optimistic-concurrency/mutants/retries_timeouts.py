"""Every error is tried again. A write whose answer was lost is carried out twice."""

KILLED_BY = "other-errors-pass"
CAUSE = "again"
CHANGES = (
    (
        "            await store.put(key, new, revision)\n        except ConflictError:",
        "            await store.put(key, new, revision)\n        except Exception:",
    ),
)
