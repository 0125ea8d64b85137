"""Which mutating webhooks are called again in the second round.

A webhook with reinvocationPolicy IfNeeded that was called is called again when something changed the object after it:
a later webhook, or a built-in plugin of the second round. A change that an earlier one makes in the second round counts
too, which often brings back the last. There is no third round.

>>> memory = Reinvocations()
>>> memory.called("a")
>>> memory.require()  # b changed the object
>>> memory.called("b")
>>> memory.should_call("a"), memory.should_call("b")
(True, False)

Upstream: apiserver/pkg/admission/plugin/webhook/mutating/reinvocationcontext.go
"""

from __future__ import annotations

from typing import Any

__all__ = ["Reinvocations"]


class Reinvocations:
    """State of one request, over its two rounds. Who is called has any hashable name."""

    __slots__ = ("_again", "_called", "_output")

    def __init__(self) -> None:
        self._called: dict[Any, None] = {}
        self._again: dict[Any, None] = {}
        self._output: Any = None

    def begin(self, obj: Any, *, is_second: bool) -> None:
        """At the start of a round: built-in plugins of the second one may have changed the object."""
        if is_second and obj != self._output:
            self.require()

    def end(self, obj: Any) -> None:
        self._output = obj

    def called(self, who: Any) -> None:
        """`who` was called, and may be called again."""
        self._called[who] = None

    def require(self) -> None:
        """The object changed: whoever was called before sees it again."""
        self._again |= self._called
        self._called = {}

    def should_call(self, who: Any) -> bool:
        return who in self._again
