"""A skew of exactly maxSkew is refused: with maxSkew 1 nobody is ever placed."""

KILLED_BY = "keeps-the-skew"
CAUSE = "strict"
CHANGES = (
    (
        '<= constraint["max_skew"]',
        '< constraint["max_skew"]',
    ),
)
