"""The answer has the plugin's newest version of yesterday instead of the configuration's."""

KILLED_BY = "answers-the-runtime"
CAUSE = "version"
CHANGES = (
    (
        '"cniVersion": config["cniVersion"]',
        '"cniVersion": "1.0.0"',
    ),
)
