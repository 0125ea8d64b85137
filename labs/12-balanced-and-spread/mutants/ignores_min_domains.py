"""min_domains is not looked at: nothing ever waits for a zone to be opened."""

KILLED_BY = "waits-for-domains"
CAUSE = "few"
CHANGES = (
    (
        ' if len(counts) >= constraint["min_domains"] else 0',
        "",
    ),
)
