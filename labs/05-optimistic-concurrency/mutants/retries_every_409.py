"""It goes by the code. AlreadyExists is a 409 too, and stays one however often it is tried."""

KILLED_BY = "retries-only-conflicts"
CAUSE = "same-code"
CHANGES = (
    (
        "async def retry_on_conflict",
        "from k8slab.api.errors import StatusError\n\n\nasync def retry_on_conflict",
    ),
    (
        "        except ConflictError:\n            if tried",
        "        except StatusError as error:\n"
        "            if error.code != 409:\n"
        "                raise\n"
        "            if tried",
    ),
)
