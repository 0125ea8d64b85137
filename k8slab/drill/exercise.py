"""A generated exercise, and what a topic is made of.

Simplified: nothing; this module has no upstream.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import yaml

from k8slab.drill.answers import Answer, Verdict
from k8slab.table import Table

__all__ = ["Draft", "Drill", "Generator", "Kind", "generate", "labels_text", "table_block", "yaml_block"]


@dataclass(frozen=True, slots=True)
class Drill:
    """One exercise. `kind`: which of the topic's questions it is; `level`: 1 (one rule) to 3 (a trap).

    `question` and `explanation` are Markdown; `judge` decides.
    """

    topic: str
    seed: str
    kind: str
    level: int
    question: str
    judge: Answer
    explanation: str

    @property
    def answer(self) -> str:
        """The right answer, in the spelling that is shown."""
        return self.judge.canonical

    def check(self, text: str) -> Verdict:
        """Judge an answer; of a wrong one it says what was probably confused."""
        return self.judge.check(text)


class Draft(NamedTuple):
    """What a kind of question makes from a random stream."""

    question: str
    answer: Answer
    explanation: str


class Kind(NamedTuple):
    """One kind of question. `source`: the upstream file (and function) that holds the rule."""

    name: str
    level: int
    source: str
    draft: Callable[[random.Random], Draft]


Generator = Callable[[random.Random], Drill]
"""From a random stream to one exercise of a topic."""


def generate(topic: str, kinds: Sequence[Kind], rng: random.Random) -> Drill:
    """An exercise of one of the kinds. Its seed is empty: whoever seeded `rng` knows it."""
    kind = rng.choice(kinds)
    question, answer, explanation = kind.draft(rng)
    return Drill(topic, "", kind.name, kind.level, question, answer, f"{explanation}\n\nUpstream: `{kind.source}`")


class _Dumper(yaml.SafeDumper):
    """Writes equal parts out each time, as people do, without anchors."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


def yaml_block(thing: Any) -> str:
    """An object as a fenced block, as one would write it."""
    text = yaml.dump(thing, Dumper=_Dumper, sort_keys=False, default_flow_style=None, width=72, allow_unicode=True)
    return f"```yaml\n{text.rstrip()}\n```"


def table_block(rows: Sequence[Sequence[Any]], columns: Sequence[str]) -> str:
    """A table as a fenced block."""
    return f"```\n{Table(rows, columns)}\n```"


def labels_text(labels: Mapping[str, str]) -> str:
    """`app=web,tier=front`; `<none>` as kubectl prints it."""
    return ",".join(f"{key}={value}" for key, value in labels.items()) or "<none>"
