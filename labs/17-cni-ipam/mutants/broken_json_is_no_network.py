"""Standard input that is no JSON gets the code of a wrong configuration."""

KILLED_BY = "names-what-is-wrong"
CAUSE = "code-6"
CHANGES = (
    (
        '{error}", 6) from None',
        '{error}", 7) from None',
    ),
)
