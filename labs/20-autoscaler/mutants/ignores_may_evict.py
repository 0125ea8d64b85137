"""safe-to-evict true is overlooked: nodes stay that their owners have released."""

KILLED_BY = "knows-who-stays"
CAUSE = "safe"
CHANGES = (
    (
        '    if pod["daemon"] or pod["safe"] == "true":',
        '    if pod["daemon"]:',
    ),
)
