"""It lets every `Exception` but conflicts pass, and takes all else for a reason to try again: also the wish to stop."""

KILLED_BY = "retries-only-conflicts"
CAUSE = "cancelled"
CHANGES = (
    (
        "        except ConflictError:\n            if tried",
        "        except BaseException as error:\n"
        "            if isinstance(error, Exception) and not isinstance(error, ConflictError):\n"
        "                raise\n"
        "            if tried",
    ),
)
