"""A process of the cluster: built, killed, built again.

A process is whatever one `Component` owns: the controller manager, the scheduler, a kubelet. Killing it cancels its
tasks at the `await` they are in; requests already sent still reach the server. A new life starts from empty caches.

Upstream: none (systemd, static Pods).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from k8slab.sim import Component, Loop

__all__ = ["Process"]


class Process:
    """`build(component)` constructs and starts the program, and returns what others may want to look at."""

    def __init__(self, loop: Loop, name: str, build: Callable[[Component], Any]) -> None:
        self.loop = loop
        self.name = name
        self._build = build
        self.component: Component | None = None
        self.program: Any = None
        self.lives = 0

    @property
    def is_alive(self) -> bool:
        return self.component is not None and self.component.alive

    def start(self) -> None:
        """Start it, unless it runs."""
        if self.is_alive:
            return
        self.lives += 1
        self.component = Component(self.loop, self.name)
        self.program = self._build(self.component)

    def kill(self) -> None:
        """End it where it stands; idempotent."""
        if self.component is not None:
            self.component.kill()
        self.program = None
