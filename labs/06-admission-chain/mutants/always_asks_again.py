"""The second round asks everybody who wants to be asked again, changed or not."""

KILLED_BY = "asks-again-once"
CAUSE = "all-willing"
CHANGES = (
    (
        '            if is_second and hook["name"] not in again:\n',
        '            changed = obj != request["object"]\n'
        '            if is_second and not (changed and hook["again"] and hook["name"] in seen):\n',
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
