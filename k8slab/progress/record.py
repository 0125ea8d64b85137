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
from typing import Any

from k8slab.table import Table

try:
    from fcntl import LOCK_EX, flock
except ImportError:  # browsers (where fcntl has no flock), Windows
    flock = None  # type: ignore[assignment]

__all__ = ["KINDS", "Progress", "ProgressError", "default_path", "remember"]

KINDS = ("chapter", "quiz", "lab", "drill")
"""What can be done, in the order of the summary."""

VERSION = 1
QUESTION = "question "
LONGEST_NAME = 200
Entries = dict[str, dict[str, dict[str, Any]]]


class ProgressError(ValueError):
    """A file of progress that cannot be used: names it, and says why."""


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
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


class Progress:
    """The record in one file. `now` tells the time as `2026-05-01T09:00:00Z`."""

    def __init__(self, path: str | Path | None = None, *, now: Callable[[], str] = _clock) -> None:
        self.path = Path(path) if path is not None else default_path()
        self._now = now

    def done(self, kind: str, name: str, **detail: str | int | float | bool | None) -> None:
        """Record that something was done. A detail that was true once stays true.

        ValueError: an unknown kind, a name that is empty or too long, a detail that is no scalar.
        """
        _check(kind, name, detail)
        self._record(kind, name, lambda old: _later(old, detail))

    def answered(self, quiz: str, question: str, *, right: bool, questions: Collection[str]) -> None:
        """Record one answer to a quiz that has these questions (ids). With all of them right its chapter is done.

        ValueError: as for `done`, or a question that is none of them.
        """
        if question not in questions:
            raise ValueError(f"question {question!r}: expected one of {', '.join(questions)}")
        _check("quiz", quiz, {})
        asked = [f"{QUESTION}{one}" for one in questions]

        def answers(old: Mapping[str, Any]) -> dict[str, Any]:
            kept = {key: value for key, value in old.items() if key in asked}
            return {"of": len(asked), **_later(kept, {f"{QUESTION}{question}": right})}

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
            return {"version": VERSION, "entries": _empty()}
        with self._locked():
            return {"version": VERSION, "entries": self._read()}

    def merge(self, exported: Mapping[str, Any], source: str = "the import") -> int:
        """Add what `export` of another place gave; how many entries were new or changed. Twice is as good as once."""
        incoming = _entries(exported, source)
        changed = 0
        with self._locked():
            entries = self._read()
            for kind, named in incoming.items():
                for name, entry in named.items():
                    merged = _merged(entries[kind].get(name), entry)
                    changed += merged != entries[kind].get(name)
                    entries[kind][name] = merged
            self._write(entries)
        return changed

    def reset(self) -> None:
        """Forget everything."""
        if self.path.exists():
            with self._locked():
                self._write(_empty())

    def summary(self) -> Table:
        """A row for each chapter, quiz and lab, and one for each topic of drills."""
        entries: Entries = self.export()["entries"]
        rows = [
            (kind, name, _result(entry["detail"]), entry["last"][:10])
            for kind in KINDS
            if kind != "drill"
            for name, entry in entries[kind].items()
        ]
        return Table([*rows, *_topics(entries["drill"])], ("KIND", "NAME", "RESULT", "LAST"))

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
            return _empty()
        try:
            data = json.loads(self.path.read_bytes().decode("utf-8"))
            if isinstance(data, dict) and isinstance(data.get("version"), int) and data["version"] > VERSION:
                raise _NewerError(f"{self.path}: version {data['version']} was written by a newer k8slab")
            return _entries(data, str(self.path))
        except _NewerError:
            raise
        except ValueError as error:  # also what json and utf-8 raise
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


def _empty() -> Entries:
    return {kind: {} for kind in KINDS}


def _check(kind: str, name: str, detail: Mapping[str, Any]) -> None:
    if kind not in KINDS:
        raise ValueError(f"kind {kind!r}: expected one of {', '.join(KINDS)}")
    if not 1 <= len(name) <= LONGEST_NAME or not name.isprintable():
        raise ValueError(f"name {name[:80]!r}: expected 1 to {LONGEST_NAME} printable characters")
    for key, value in detail.items():
        if not isinstance(value, str | int | float | bool | None):
            raise ValueError(f"detail {key!r}: {value!r}: expected text, a number, true or false")


def _later(old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, Any]:
    """The newer details win, but what was true stays true: a lab that was passed stays passed."""
    return {**old, **{key: True if old.get(key) is True and value is False else value for key, value in new.items()}}


def _merged(mine: dict[str, Any] | None, theirs: dict[str, Any]) -> dict[str, Any]:
    if mine is None:
        return theirs
    older, newer = sorted((mine, theirs), key=lambda entry: str(entry["last"]))
    return {
        "first": min(mine["first"], theirs["first"]),
        "last": newer["last"],
        "times": max(mine["times"], theirs["times"]),
        "detail": _later(older["detail"], newer["detail"]),
    }


def _entries(data: Any, source: str) -> Entries:
    """The entries of an exported record, checked. ProgressError says what is wrong where."""
    if not isinstance(data, Mapping) or data.get("version") != VERSION or not isinstance(data.get("entries"), Mapping):
        raise ProgressError(f"{source}: expected an object with version {VERSION} and entries")
    found = _empty()
    for kind, named in data["entries"].items():
        if kind not in KINDS or not isinstance(named, Mapping):
            raise ProgressError(f"{source}: entries.{kind}: expected one of {', '.join(KINDS)}, by name")
        for name, entry in named.items():
            found[kind][name] = _entry(entry, f"{source}: {kind} {name!r}")
    return found


def _entry(entry: Any, where: str) -> dict[str, Any]:
    if not isinstance(entry, Mapping):
        raise ProgressError(f"{where}: expected first, last, times and detail")
    first, last, times, detail = (entry.get(key) for key in ("first", "last", "times", "detail"))
    if not (
        isinstance(first, str) and isinstance(last, str) and isinstance(times, int) and isinstance(detail, Mapping)
    ):
        raise ProgressError(f"{where}: expected first and last (times), times (a number) and detail")
    return {"first": first, "last": last, "times": times, "detail": dict(detail)}


def _result(detail: Mapping[str, Any]) -> str:
    answers = [right for key, right in detail.items() if key.startswith(QUESTION)]
    if answers:
        left = detail.get("of", len(answers)) - len(answers)
        return f"{answers.count(True)} of {detail.get('of')} right" + (f", {left} not answered yet" if left else "")
    parts = [key if value is True else f"{key}={value}" for key, value in detail.items() if value is not None]
    return ", ".join(parts) or "done"


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
