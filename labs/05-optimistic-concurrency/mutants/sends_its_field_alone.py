"""The update holds only the field that was to be set. An update replaces the object: the other fields are gone."""

KILLED_BY = "keeps-what-others-wrote"
CAUSE = "overwritten"
CHANGES = (
    (
        '        obj["data"][field] = value\n',
        '        obj["data"] = {field: value}\n',
    ),
)
