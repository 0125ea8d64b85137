"""CNI_ARGS: `KEY=VALUE;KEY=VALUE`, of which a plugin knows some.

>>> load_args("IP=10.1.2.88;K8S_POD_NAME=web-0;IgnoreUnknown=1", ("IP",))
{'IP': '10.1.2.88'}

Upstream: containernetworking/cni pkg/types/args.go
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from k8slab.api.go_json import go_json
from k8slab.network.cni.errors import CNIError

__all__ = ["load_args", "quoted_list"]

_BOOLEANS = {"1": True, "true": True, "0": False, "false": False}


def quoted_list(items: Sequence[str]) -> str:
    """A list of texts as Go prints it with `%q`: `["a" "b"]`."""
    return f"[{' '.join(go_json(item) for item in items)}]"


def load_args(args: str, known: Sequence[str], check: Callable[[str], object] = len) -> dict[str, str]:
    """The known arguments. Others are an error unless IgnoreUnknown is among them. CNIError, also what `check` raises
    for a value."""
    found: dict[str, str] = {}
    unknown: list[str] = []
    ignores = False
    for pair in args.split(";") if args else ():
        key, equals, value = pair.partition("=")
        if not equals or "=" in value:
            raise CNIError(f"ARGS: invalid pair {go_json(pair)}")
        if key == "IgnoreUnknown":
            if value.lower() not in _BOOLEANS:
                why = f"boolean unmarshal error: invalid input {value.lower()}"
                raise CNIError(f"ARGS: error parsing value of pair {go_json(pair)}: {why}")
            ignores = _BOOLEANS[value.lower()]
        elif key in known:
            try:
                check(value)
            except CNIError as error:
                raise CNIError(f"ARGS: error parsing value of pair {go_json(pair)}: {error.msg}") from None
            found[key] = value
        else:
            unknown.append(pair)
    if unknown and not ignores:
        raise CNIError(f"ARGS: unknown args {quoted_list(unknown)}")
    return found
