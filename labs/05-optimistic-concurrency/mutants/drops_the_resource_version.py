"""Without a resourceVersion there are no conflicts any more. There is no protection any more, either."""

KILLED_BY = "keeps-what-others-wrote"
CAUSE = "unconditional"
CHANGES = (
    (
        '        obj["data"][field] = value\n',
        '        obj["data"][field] = value\n        del obj["metadata"]["resourceVersion"]\n',
    ),
)
