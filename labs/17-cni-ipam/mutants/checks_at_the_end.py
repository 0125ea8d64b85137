"""The version is compared after the address is taken: the call fails, the lease stays."""

KILLED_BY = "names-what-is-wrong"
CAUSE = "left-behind"
CHANGES = (
    (
        '    if config.get("cniVersion") not in VERSIONS:\n        raise CNIError("incompatible CNI versions", 1)\n',
        "",
    ),
    (
        '    ips = plugin.add(config["ipam"], *who)\n',
        '    ips = plugin.add(config["ipam"], *who)\n    if config["cniVersion"] not in VERSIONS:\n'
        '        raise CNIError("incompatible CNI versions", 1)\n',
    ),
)
