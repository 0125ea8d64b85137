"""It sleeps first and looks afterwards whether that was the last try: bad news comes 10 ms late, for nothing."""

KILLED_BY = "waits-between-tries"
CAUSE = "after-the-last"
CHANGES = (
    (
        "        except ConflictError:\n"
        "            if tried >= steps:\n"
        "                raise\n"
        "        await sleep(delay_ms)\n",
        "        except ConflictError as error:\n"
        "            await sleep(delay_ms)\n"
        "            if tried >= steps:\n"
        "                raise error\n",
    ),
)
