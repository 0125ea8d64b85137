"""What a validating webhook wants to change is shown to the next one."""

KILLED_BY = "asks-all-at-once"
CAUSE = "patches"
CHANGES = (
    (
        '        allowed, _, took = outcome(hook, call(hook, request["object"]))\n',
        "        allowed, patch, took = outcome(hook, call(hook, obj))\n"
        '        obj = {**obj, "labels": {**obj["labels"], **patch}}\n',
    ),
    (
        "    times, refusals = [0], []\n",
        '    times, refusals, obj = [0], [], request["object"]\n',
    ),
)
