"""The newest resourceVersion on the object from before: it claims to have seen what it overwrites."""

KILLED_BY = "keeps-what-others-wrote"
CAUSE = "overwritten"
CHANGES = (
    (
        '    async def attempt():\n        obj = await api.get(name)\n        obj["data"][field] = value\n',
        "    obj = await api.get(name)\n"
        '    obj["data"][field] = value\n'
        "\n"
        "    async def attempt():\n"
        '        obj["metadata"] = (await api.get(name))["metadata"]\n',
    ),
)
