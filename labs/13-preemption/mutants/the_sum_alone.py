"""The most important victim is not asked: a sum hides it."""

KILLED_BY = "compares-column-by-column"
CAUSE = "skips-highest"
CHANGES = (
    (
        "            highest,\n",
        "",
    ),
)
