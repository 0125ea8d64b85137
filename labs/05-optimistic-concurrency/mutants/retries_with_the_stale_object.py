"""The object is read once, outside the attempt: five tries with one old resourceVersion are five conflicts.

This is the commonest mistake with RetryOnConflict, and the reason for the long comment above it in client-go.
"""

KILLED_BY = "fields-arrive"
CAUSE = "stale"
CHANGES = (
    (
        '    async def attempt():\n        obj = await api.get(name)\n        obj["data"][field] = value\n',
        '    obj = await api.get(name)\n    obj["data"][field] = value\n\n    async def attempt():\n',
    ),
)
