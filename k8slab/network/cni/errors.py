"""What a plugin says when it fails: a number for programs, a text for people.

Upstream: containernetworking/cni pkg/types/types.go (Error); Spec: CNI 1.1.0, section 5, "Error"
"""

from __future__ import annotations

from enum import IntEnum
from typing import Any

__all__ = ["CNIError", "Code"]


class Code(IntEnum):
    """The codes that are reserved. 100 and above are a plugin's own; upstream's plugins use 999 for all of theirs."""

    UNKNOWN = 0
    INCOMPATIBLE_CNI_VERSION = 1
    UNSUPPORTED_FIELD = 2
    UNKNOWN_CONTAINER = 3
    INVALID_ENVIRONMENT_VARIABLES = 4
    IO_FAILURE = 5
    DECODING_FAILURE = 6
    INVALID_NETWORK_CONFIG = 7
    INVALID_NETNS = 8
    TRY_AGAIN_LATER = 11
    PLUGIN_NOT_AVAILABLE = 50
    LIMITED_CONNECTIVITY = 51
    INTERNAL = 999


class CNIError(Exception):
    """A failure as it is printed on standard output. `str()` is the text that callers put into theirs."""

    def __init__(self, msg: str, code: int = Code.INTERNAL, details: str = "") -> None:
        super().__init__(f"{msg}; {details}" if details else msg)
        self.msg = msg
        self.code = int(code)
        self.details = details

    def to_json(self) -> dict[str, Any]:
        """The object that goes out. (Upstream's code leaves out `cniVersion`, which the specification asks for.)"""
        body: dict[str, Any] = {"code": self.code, "msg": self.msg}
        return {**body, "details": self.details} if self.details else body
