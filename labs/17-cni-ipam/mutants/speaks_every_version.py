"""The version of the configuration is not looked at."""

KILLED_BY = "names-what-is-wrong"
CAUSE = "status"
CHANGES = (
    (
        '    if config.get("cniVersion") not in VERSIONS:\n        raise CNIError("incompatible CNI versions", 1)\n',
        "",
    ),
)
