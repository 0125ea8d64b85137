"""Recordings: a run is its configuration, its seed, what came from outside, and its order.

Going back shows recorded frames; forking replays to an action and goes on differently. Nothing of a run is copied
or pickled: the same inputs at the same actions give the same bytes.
"""

from __future__ import annotations

import base64
import json
import random
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from k8slab.sim.order import Choices, Fifo, Hold, Holds, Order, Priority, Shuffle

__all__ = ["Input", "Recording", "order_of"]

_PREFIX = "k8slab1."


class Input(NamedTuple):
    """Something from outside: `command` with JSON-able `args`, given after `action` actions, at `now_ms`."""

    action: int
    now_ms: int
    command: str
    args: Mapping[str, Any]


@dataclass(frozen=True)
class Recording:
    """All that is needed to run the same thing again.

    `config`: the arguments the simulation was built with. `order`: "fifo", "shuffle" or "priority" (both drawn
    from the seed), or "choices" / "holds" with the fields of that name. `at`: where it stood, as (actions, now_ms);
    None: just after its last input. `seen`: the number of the event that was looked at.
    """

    config: Mapping[str, Any]
    seed: int | str
    inputs: tuple[Input, ...] = ()
    order: str = "fifo"
    choices: Mapping[int, int] = field(default_factory=dict)
    holds: tuple[Hold, ...] = ()
    at: tuple[int, int] | None = None
    seen: int | None = None

    def until(self, action: int, seen: int | None = None) -> Recording:
        """The same run up to `action`: what a fork starts from."""
        inputs = tuple(i for i in self.inputs if i.action <= action)
        return replace(self, inputs=inputs, at=(action, 0), seen=seen)

    def share(self) -> str:
        """The recording as one line of text that `load` opens elsewhere."""
        data = {
            "config": dict(self.config),
            "seed": self.seed,
            "inputs": [[i.action, i.now_ms, i.command, dict(i.args)] for i in self.inputs],
            "order": self.order,
            "choices": {str(k): v for k, v in self.choices.items()},
            "holds": [list(h) for h in self.holds],
            "at": self.at,
            "seen": self.seen,
        }
        raw = json.dumps(data, sort_keys=True, separators=(",", ":")).encode()
        return _PREFIX + base64.urlsafe_b64encode(zlib.compress(raw, 9)).decode().rstrip("=")

    @classmethod
    def load(cls, text: str) -> Recording:
        """The recording that `share` wrote; ValueError when `text` is none."""
        text = text.strip()
        if not text.startswith(_PREFIX):
            raise ValueError(f"recording {text[:20]!r}…: expected text that begins with {_PREFIX!r}")
        body = text[len(_PREFIX) :]
        try:
            unzip = zlib.decompressobj()
            raw = unzip.decompress(base64.urlsafe_b64decode(body + "=" * (-len(body) % 4)), 16 << 20)
            if not unzip.eof:
                raise ValueError("its end is missing")  # the checksum, too
            data = json.loads(raw)
            return cls(
                data["config"],
                data["seed"],
                tuple(Input(a, t, c, args) for a, t, c, args in data["inputs"]),
                data["order"],
                {int(k): v for k, v in data["choices"].items()},
                tuple(Hold(*h) for h in data["holds"]),
                _place(data.get("at")),
                None if data.get("seen") is None else int(data["seen"]),
            )
        except (ValueError, KeyError, TypeError, AttributeError, zlib.error) as error:
            raise ValueError(f"recording {text[:20]!r}…: damaged or cut off ({error})") from None


def _place(at: Any) -> tuple[int, int] | None:
    if at is None:
        return None
    action, now_ms = at
    return int(action), int(now_ms)


def order_of(recording: Recording) -> Order:
    """A fresh order as the recording asks for."""
    if recording.order == "fifo":
        return Fifo()
    if recording.order == "choices":
        return Choices(recording.choices)
    if recording.order == "holds":
        return Holds(recording.holds)
    rng = random.Random(f"{recording.seed}/order")
    if recording.order == "shuffle":
        return Shuffle(rng)
    if recording.order == "priority":
        return Priority(rng)
    raise ValueError(f"order {recording.order!r}: expected fifo, shuffle, priority, choices or holds")
