"""Who was not asked in the first round is asked in the second."""

KILLED_BY = "asks-again-once"
CAUSE = "newcomers"
CHANGES = (
    (
        '            if is_second and hook["name"] not in again:\n',
        '            if is_second and hook["name"] not in again and (not hook["again"] or hook["name"] in seen):\n',
    ),
    (
        "    asked, again = set(), set()\n",
        "    asked, again, seen = set(), set(), set()\n",
    ),
    (
        "            ms += took\n"
        "            if not allowed:\n"
        '                return None, hook["name"], ms\n'
        "            labels",
        "            ms += took\n"
        '            seen.add(hook["name"])\n'
        "            if not allowed:\n"
        '                return None, hook["name"], ms\n'
        "            labels",
    ),
)
