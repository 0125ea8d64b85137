"""The record in its file.

The file is `$K8SLAB_HOME/progress.json`, else `k8slab/progress.json` in `$XDG_DATA_HOME` (`~/.local/share`). It is
replaced as a whole, and writers take turns by a lock on a file beside it. One that cannot be read is moved aside and
named, never overwritten.

Simplified: where the system has no `flock` (browsers, Windows) writers do not take turns; in the browser edition the
file is gone with the page.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import tempfile
from collections.abc import Callable, Collection, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from types import MappingProxyType
from typing import Any

from k8slab.progress.entries import (
    KINDS,
    QUESTION,
    TIME,
    VERSION,
    Entries,
    ProgressError,
    check,
    empty,
    entries_of,
    later,
    merged,
)
from k8slab.table import Table

try:
    from fcntl import LOCK_EX, flock
except ImportError:  # browsers (where fcntl has no flock), Windows
    flock = None  # type: ignore[assignment]

__all__ = ["Progress", "default_path", "remember"]

UNKNOWN = "not in this version of the book"


def default_path() -> Path:
    """Where progress is kept when nothing else is said. ProgressError where nobody has a home."""
    if home := os.environ.get("K8SLAB_HOME"):
        return Path(home) / "progress.json"
    data = os.environ.get("XDG_DATA_HOME")
    try:
        return (Path(data) if data else Path.home() / ".local" / "share") / "k8slab" / "progress.json"
    except RuntimeError as error:
        raise ProgressError(f"there is no home folder ({error}); set K8SLAB_HOME to a folder") from error


def _clock() -> str:
    return datetime.now(UTC).strftime(TIME)


class Progress:
    """The record in one file. `now` tells the time as `2026-05-01T09:00:00Z`."""

    def __init__(self, path: str | Path | None = None, *, now: Callable[[], str] = _clock) -> None:
        self.path = Path(path) if path is not None else default_path()
        self._now = now

    def done(self, kind: str, name: str, **detail: str | int | float | bool | None) -> None:
        """Record that something was done. A detail that was true once stays true, and `points` stay the best, with what
        they are `of`.

        ValueError: an unknown kind, a name that is empty or too long, a detail that is no scalar, or none that can be:
        `passed` and `right` are true or false, `points` and `of` whole numbers.
        """
        check(kind, name, detail)
        self._record(kind, name, lambda old: later(old, detail))

    def answered(self, quiz: str, question: str, *, right: bool, questions: Collection[str]) -> None:
        """Record one answer to a quiz that has these questions (ids). With all of them right its chapter is done.

        ValueError: as for `done`, or a question that is none of them.
        """
        if question not in questions:
            raise ValueError(f"question {question!r}: expected one of {', '.join(questions)}")
        check("quiz", quiz, {f"{QUESTION}{question}": right})
        asked = [f"{QUESTION}{one}" for one in questions]

        def answers(old: Mapping[str, Any]) -> dict[str, Any]:
            kept = {key: value for key, value in old.items() if key in asked}
            return {"of": len(asked), **later(kept, {f"{QUESTION}{question}": right})}

        detail = self._record("quiz", quiz, answers)
        if all(detail.get(key) is True for key in asked):
            self.done("chapter", quiz)

    def _record(self, kind: str, name: str, detail: Callable[[Mapping[str, Any]], dict[str, Any]]) -> dict[str, Any]:
        """Add a time to an entry; `detail` makes its details from the old ones. Returns them."""
        now = self._now()
        with self._locked():
            entries = self._read()
            known = entries[kind].get(name, {"first": now, "times": 0, "detail": {}})
            made = detail(known["detail"])
            entries[kind][name] = {"first": known["first"], "last": now, "times": known["times"] + 1, "detail": made}
            self._write(entries)
        return made

    def export(self) -> dict[str, Any]:
        """Everything, ready for JSON: {version, entries: {kind: {name: {first, last, times, detail}}}}."""
        if not self.path.exists():
            return {"version": VERSION, "entries": empty()}
        with self._locked():
            return {"version": VERSION, "entries": self._read()}

    def merge(self, exported: Mapping[str, Any], source: str = "the import") -> int:
        """Add what `export` of another place gave; how many entries were new or changed. Twice is as good as once."""
        incoming = entries_of(exported, source)
        changed = 0
        with self._locked():
            entries = self._read()
            for kind, named in incoming.items():
                for name, entry in named.items():
                    known = entries[kind].get(name)
                    entries[kind][name] = merged(known, entry)
                    changed += entries[kind][name] != known
            self._write(entries)
        return changed

    def reset(self) -> None:
        """Forget everything."""
        if self.path.exists():
            with self._locked():
                self._write(empty())

    def summary(self, known: Mapping[str, Collection[str]] = MappingProxyType({})) -> Table:
        """A row for each chapter, quiz and lab, and one for each topic of drills.

        `known`: the names that there are, by kind. Of others it tells no result; of a kind without names all are known.
        """
        entries: Entries = self.export()["entries"]
        rows = [
            (kind, name, _result(entry["detail"]), entry["last"][:10])
            for kind in KINDS
            if kind != "drill"
            for name, entry in entries[kind].items()
        ]
        told = [
            (kind, name, result if name in known.get(kind, (name,)) else UNKNOWN, last)
            for kind, name, result, last in [*rows, *_topics(entries["drill"])]
        ]
        return Table(told, ("KIND", "NAME", "RESULT", "LAST"))

    # -- the file -----------------------------------------------------------------------------------

    @contextlib.contextmanager
    def _locked(self) -> Iterator[None]:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.with_name(f"{self.path.name}.lock").open("a", encoding="utf-8") as lock:
            if flock is not None:
                flock(lock, LOCK_EX)  # given back when the file is closed
            yield

    def _read(self) -> Entries:
        if not self.path.exists():
            return empty()
        try:
            data = json.loads(self.path.read_bytes().decode("utf-8"))
            if isinstance(data, dict) and isinstance(data.get("version"), int) and data["version"] > VERSION:
                raise _NewerError(f"{self.path}: version {data['version']} was written by a newer k8slab")
            return entries_of(data, str(self.path))
        except _NewerError:
            raise
        except (ValueError, RecursionError) as error:  # also what json and utf-8 raise
            broken = self._move_aside()
            raise ProgressError(
                f"{self.path}: cannot be read as progress ({error}); it was moved to {broken}, and the next run starts "
                "anew (mend it and use --import to get it back)"
            ) from error

    def _move_aside(self) -> Path:
        number, broken = 1, self.path.with_name(f"{self.path.name}.broken")
        while broken.exists():
            number += 1
            broken = self.path.with_name(f"{self.path.name}.broken-{number}")
        self.path.rename(broken)
        return broken

    def _write(self, entries: Entries) -> None:
        text = json.dumps({"version": VERSION, "entries": entries}, indent=1, ensure_ascii=False) + "\n"
        handle, name = tempfile.mkstemp(dir=self.path.parent, prefix=f"{self.path.name}.", suffix=".new")
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
            Path(name).replace(self.path)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise


class _NewerError(ProgressError):
    """A file that is whole, but not for this version: it stays where it is."""


_told: set[str] = set()


def remember(record: Callable[[Progress], None]) -> None:
    """Let `record` write into the reader's progress. Where that is not possible, say so once, and go on."""
    try:
        record(Progress())
    except (ProgressError, OSError) as error:
        sentence = f"k8slab: progress is not kept: {error}"
        if sentence not in _told:
            _told.add(sentence)
            print(sentence, file=sys.stderr)


def _result(detail: Mapping[str, Any]) -> str:
    answers = [right for key, right in detail.items() if key.startswith(QUESTION)]
    if answers:
        asked = max(detail.get("of", 0), len(answers))
        left = asked - len(answers)
        return f"{answers.count(True)} of {asked} right" + (f", {left} not answered yet" if left else "")
    parts = [_passed(detail), _points(detail)]
    parts += [
        key if value is True else f"{key}={value}"
        for key, value in detail.items()
        if value is not None and key not in ("passed", "points", "of")
    ]
    return ", ".join(part for part in parts if part) or "done"


def _passed(detail: Mapping[str, Any]) -> str:
    """Points tell by themselves that it is not passed."""
    if detail.get("passed") is True:
        return "passed"
    return "not passed yet" if detail.get("passed") is False and "points" not in detail else ""


def _points(detail: Mapping[str, Any]) -> str:
    """`1 of 16 points`; what they are of is not always known."""
    if "points" not in detail:
        return ""
    points, of = detail["points"], detail.get("of")
    return f"{points} of {of} points" if of is not None else f"{points} point{'s' * (points != 1)}"


def _topics(drills: Mapping[str, Mapping[str, Any]]) -> list[tuple[str, str, str, str]]:
    """Drills by topic: their names are `topic/seed`. Tries are told where some exercise took more than one."""
    by_topic: dict[str, list[Mapping[str, Any]]] = {}
    for name, entry in drills.items():
        by_topic.setdefault(name.partition("/")[0], []).append(entry)
    rows = []
    for topic, found in by_topic.items():
        right, tries = sum(entry["detail"].get("right") is True for entry in found), sum(e["times"] for e in found)
        result = f"{right} right of {len(found)}" + (f", {tries} tries" if tries > len(found) else "")
        rows.append(("drill", topic, result, max(entry["last"] for entry in found)[:10]))
    return rows
