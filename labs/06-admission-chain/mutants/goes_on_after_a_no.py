"""Others are asked after a refusal."""

KILLED_BY = "one-after-the-other"
CAUSE = "goes-on"
CHANGES = (
    (
        '    obj, ms = request["object"], 0\n',
        '    obj, ms, refused = request["object"], 0, None\n',
    ),
    (
        '            if not allowed:\n                return None, hook["name"], ms\n            labels',
        '            if not allowed:\n                refused = refused or hook["name"]\n            labels',
    ),
    (
        "    return obj, None, ms\n\n",
        "    if refused is not None:\n        return None, refused, ms\n    return obj, None, ms\n\n",
    ),
)
