"""Verdicts of plugins: a code, reasons, and whose verdict it is.

Upstream: staging/src/k8s.io/kube-scheduler/framework/interface.go (Code, Status)
Simplified: a Status carries reasons only, no wrapped Go error; `with_error` puts the error's text first, as
upstream's Reasons() does.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum

__all__ = ["SKIP", "SUCCESS", "Code", "PluginError", "Status"]


class Code(StrEnum):
    """What a plugin says. `Unschedulable` is no error: preemption may help; the `Unresolvable` one says it won't."""

    SUCCESS = "Success"
    ERROR = "Error"
    UNSCHEDULABLE = "Unschedulable"
    UNSCHEDULABLE_AND_UNRESOLVABLE = "UnschedulableAndUnresolvable"
    WAIT = "Wait"
    SKIP = "Skip"
    PENDING = "Pending"


_REJECTIONS = frozenset((Code.UNSCHEDULABLE, Code.UNSCHEDULABLE_AND_UNRESOLVABLE, Code.PENDING))


class Status:
    """The result of running a plugin. Immutable; `SUCCESS` is one shared object, compared with `is`."""

    __slots__ = ("code", "plugin", "reasons")

    code: Code
    reasons: tuple[str, ...]
    plugin: str

    def __init__(self, code: Code, *reasons: str, plugin: str = "") -> None:
        if code is Code.SUCCESS and (reasons or plugin):
            raise ValueError("Status: Success has no reasons and no plugin; use SUCCESS")
        self.code = code
        self.reasons = reasons
        self.plugin = plugin

    @property
    def message(self) -> str:
        """The reasons in one text, as upstream joins them."""
        return ", ".join(self.reasons)

    @property
    def is_success(self) -> bool:
        return self.code is Code.SUCCESS

    @property
    def is_skip(self) -> bool:
        return self.code is Code.SKIP

    @property
    def is_wait(self) -> bool:
        return self.code is Code.WAIT

    @property
    def is_rejected(self) -> bool:
        """Unschedulable, UnschedulableAndUnresolvable or Pending: the Pod cannot go on, and nothing broke."""
        return self.code in _REJECTIONS

    def with_plugin(self, plugin: str) -> Status:
        """The same verdict, signed by `plugin`."""
        if self is SUCCESS or self.plugin == plugin:
            return self
        return Status(self.code, *self.reasons, plugin=plugin)

    def with_error(self, text: str) -> Status:
        """The same verdict with `text` as its first reason."""
        return Status(self.code, text, *self.reasons, plugin=self.plugin)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Status):
            return NotImplemented
        return (self.code, self.reasons, self.plugin) == (other.code, other.reasons, other.plugin)

    def __hash__(self) -> int:
        return hash((self.code, self.reasons, self.plugin))

    def __repr__(self) -> str:
        if self is SUCCESS:
            return "SUCCESS"
        parts: Iterable[str] = (self.code.value, *map(repr, self.reasons), *([self.plugin] if self.plugin else []))
        return f"Status({', '.join(parts)})"


SUCCESS = Status(Code.SUCCESS)
"""The one Status of success: return it itself, compare with `is`."""

SKIP = Status(Code.SKIP)
"""From PreFilter or PreScore: the plugin has nothing to do for this Pod; from Bind: another plugin shall."""


class PluginError(Exception):
    """Raised by `score` and `normalize_score` when they cannot answer; the runtime turns it into a Status Error."""
