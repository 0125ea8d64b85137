"""A timeout is taken for success, since the write was probably carried out. Probably."""

KILLED_BY = "other-errors-pass"
CAUSE = "swallowed"
CHANGES = (
    (
        "            await store.put(key, new, revision)\n        except ConflictError:",
        "            await store.put(key, new, revision)\n"
        "        except TimeoutError_:\n"
        "            return new\n"
        "        except ConflictError:",
    ),
    (
        "async def guaranteed_update",
        "from k8slab.api.errors import TimeoutStatusError as TimeoutError_\n\n\nasync def guaranteed_update",
    ),
)
