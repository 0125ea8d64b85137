"""Where a learner's code runs: in a child process with limits, or (in a browser) in this one.

`Runner.open(setup)` gives a `Session`, which plays scripts and gives back records. A teacher who wants a stronger wall
names another command: `ChildRunner(["docker", "run", "-i", "--rm", "--network=none", ..., "python", ...])`;
whatever it starts must pass standard input, output and error on to `k8slab/lab/child.py`. All of such a line is in
`book/teach/course-in-an-hour.md`.

Simplified: a process that leaves its process group survives the end of its session.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import secrets
import selectors
import shlex
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Protocol

from k8slab.lab import child
from k8slab.lab.deadline import LOOK_SECONDS, Deadline
from k8slab.lab.model import Odd, Raised, Record, Script, Step, clean

__all__ = [
    "CHILD",
    "LATE",
    "ChildRunner",
    "InProcessRunner",
    "Limits",
    "Problem",
    "Runner",
    "Session",
    "Setup",
    "default_runner",
]

CHILD = str(Path(child.__file__).resolve())
_MOST_FRAMES_BYTES = 8 << 20
_MOST_PRINTED = 4_000
_START_SECONDS, _LOAD_SECONDS = 60.0, 5.0
SLOW = (
    "the cells take too long to load: they are loaded anew for every schedule, so keep out of them what is no "
    "definition"
)
LATE = "while it was loaded: it did not end within"
"""How a `Problem` begins that may be another on a machine with more time or memory."""
_FORGED = "it wrote into the channel of the answers"
_ADDRESS = re.compile(r"\bat 0x[0-9a-fA-F]*")
_PREFIX = "k8slab-lab-"
_HOME = re.compile(rf"\b{_PREFIX}\w+")
_TOPS = ("home", "mnt", "nix", "opt", "private", "proc", "root", "srv", "tmp", "usr", "var", "Library", "Users")


@dataclass(frozen=True)
class Limits:
    """For one script in seconds of work and sleep (see `k8slab.lab.deadline`: waiting for a turn on a busy machine is
    neither), for the process in megabytes and seconds of CPU time."""

    seconds: float = 0.5
    megabytes: int = 512
    cpu_seconds: int = 30


@dataclass(frozen=True)
class Setup:
    """What a session runs. `drive`: the source that plays operations; `closed`: folders not to be read."""

    code: str
    drive: str
    names: Mapping[str, str]
    forbidden: tuple[str, ...] = ()
    closed: tuple[str, ...] = ()
    limits: Limits = field(default_factory=Limits)


class Problem(Exception):
    """The solution cannot even be loaded: what it raised, or how its process ended. `notes`: what it was refused."""

    def __init__(self, raised: Raised | None, text: str = "", notes: Sequence[str] = ()) -> None:
        super().__init__(text or str(raised))
        self.raised = raised
        self.notes = tuple(notes)


class RunnerError(RuntimeError):
    """The command that should run solutions does not: nobody's fault but the set-up's."""


class Session(Protocol):
    """A loaded solution. `notes`: what it tried and was refused. `spent`: seconds that its scripts took, as they are
    counted."""

    notes: list[str]
    spent: float

    def play(self, script: Script, setting: str = "", needs: Sequence[str] = ()) -> Record: ...

    def close(self) -> None: ...


class Runner(Protocol):
    """Opens sessions. `says`: a sentence for every report ("" for none)."""

    says: str

    def open(self, setup: Setup) -> Session:
        """Raises `Problem`."""


def default_runner() -> Runner:
    """A child process where there are any; `K8SLAB_RUNNER` may name another command for it."""
    if sys.platform == "emscripten":
        return InProcessRunner()
    command = shlex.split(os.environ.get("K8SLAB_RUNNER", ""))
    return ChildRunner(command or None)


# -- a child process -------------------------------------------------------------------------------


class ChildRunner:
    """`command`: what to start instead of this Python and `child.py`."""

    says = ""

    def __init__(self, command: Sequence[str] | None = None) -> None:
        self.command = list(command) if command else [sys.executable, "-s", "-P", CHILD]
        self._variables = dict(_variables()) if command else {}

    def open(self, setup: Setup) -> Session:
        return _ChildSession(self.command, setup, self._variables)


def _variables() -> Iterator[tuple[str, str]]:
    """What the command that starts a container has to know of this machine; nothing else reaches a solution."""
    for name, value in os.environ.items():
        if name in ("PATH", "HOME", "XDG_RUNTIME_DIR") or name.startswith(("DOCKER_", "CONTAINER_")):
            yield name, value


class _Ended(Exception):
    """The child says no more; the text says why."""


class _ChildSession:
    """Starts its process when it is needed, and again after one that ended early."""

    def __init__(self, command: Sequence[str], setup: Setup, variables: Mapping[str, str]) -> None:
        self._command = command
        self._setup = setup
        self._home = tempfile.TemporaryDirectory(prefix=_PREFIX)
        self._environment = {"PATH": os.defpath, "HOME": self._home.name, **variables}
        self._process: subprocess.Popen[bytes] | None = None
        self._buffer = b""
        self._received = 0
        self._printed = bytearray()
        self._notes = child.notes(setup.forbidden)
        self.notes: list[str] = []
        self.spent = 0.0
        try:
            self._start()
        except BaseException:
            self.close()
            raise

    # -- one script ------------------------------------------------------------------------------

    def play(self, script: Script, setting: str = "", needs: Sequence[str] = ()) -> Record:
        """The record of `script`, whatever the code does."""
        steps: list[Step] = []
        self._printed.clear()
        deadline: Deadline | None = None
        try:
            if self._process is None:
                self._start()
            number = secrets.token_hex(8)  # nobody answers what was not asked yet
            assert self._process is not None
            deadline = Deadline(self._setup.limits.seconds, self._process.pid)
            request = {"number": number, "script": script, "setting": setting, "needs": needs}
            self._send(request, deadline, self._too_much(self._setup.limits.seconds))
            self._collect(number, script, steps, deadline)
            self._hear_the_rest(deadline)
            ended = ""
        except Problem as problem:
            ended = str(problem)
        except _Ended as why:
            ended = str(why)
            self._kill()
        self.spent += deadline.spent if deadline is not None else 0.0
        printed = settled(bytes(self._printed[:_MOST_PRINTED]).decode("utf-8", "replace"))
        return Record(script, tuple(steps), ended, clean(printed, _MOST_PRINTED))

    def _collect(self, number: str, script: Script, steps: list[Step], deadline: Deadline) -> None:
        too_much = self._too_much(self._setup.limits.seconds)
        is_last = False
        while True:
            frame = self._answer(deadline, too_much)
            if frame.get("number") != number:
                raise _Ended(_FORGED)
            if frame.get("end") is True:
                if len(steps) != len(script) and not is_last:
                    raise _Ended("it broke the channel of the answers")
                return
            if len(steps) >= len(script):
                raise _Ended(_FORGED)
            result = _result(frame)
            if isinstance(result, Raised) and result.type == "MemoryError":
                raise _Ended(too_much)  # how soon memory ends, and whether before the time, is another matter each day
            steps.append(Step(len(steps) + 1, script[len(steps)], result))
            is_last = frame.get("last") is True

    def _too_much(self, seconds: float) -> str:
        """One sentence for time and memory: which of them ends first, is another matter each day."""
        return f"it did not end within {seconds:g} s and {self._setup.limits.megabytes} MB"

    def _answer(self, deadline: Deadline, late: str) -> dict[str, Any]:
        """The next line that tells of no refusal; those are noted."""
        while "tried" in (frame := self._frame(deadline, late)):
            note = frame["tried"]
            if isinstance(note, str) and note in self._notes and note not in self.notes:
                self.notes.append(note)
        return frame

    # -- the process -----------------------------------------------------------------------------

    def _start(self) -> None:
        setup = self._setup
        self._buffer, self._received = b"", 0
        self._process = _started(
            self._command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=self._home.name,
            env={**self._environment, "PYTHONHASHSEED": "0", "PYTHONIOENCODING": "utf-8"},
            start_new_session=True,
        )
        for pipe in (self._process.stdin, self._process.stdout, self._process.stderr):
            assert pipe is not None
            os.set_blocking(pipe.fileno(), False)
        self._tell(
            {
                "code": setup.code,
                "drive": setup.drive,
                "names": dict(setup.names),
                "forbidden": setup.forbidden,
                "closed": setup.closed,
                "megabytes": setup.limits.megabytes,
                "cpu_seconds": setup.limits.cpu_seconds,
            }
        )
        try:
            frame = self._answer(Deadline(_LOAD_SECONDS, self._process.pid), self._too_much(_LOAD_SECONDS))
        except _Ended as why:
            self._kill()
            raise Problem(None, f"while it was loaded: {why}", self.notes) from None
        if "problem" in frame:
            self._kill()
            problem = _raised(frame["problem"])
            if problem.type == "MemoryError":
                raise Problem(None, f"while it was loaded: {self._too_much(_LOAD_SECONDS)}", self.notes)
            raise Problem(problem, notes=self.notes)
        if frame.get("slow") is True:
            self._kill()
            raise Problem(None, SLOW, self.notes)

    def _tell(self, message: Mapping[str, Any]) -> None:
        """The first message, and that it was heard, before any of the solution runs. RunnerError: it was not."""
        late = f"it did not end within {_START_SECONDS:g} s"
        try:
            self._send(message, Deadline(_START_SECONDS), late)
            heard = self._frame(Deadline(_START_SECONDS), late)
        except _Ended as why:
            self._kill()
            raise RunnerError(f"{self._command[0]}: {why} before it listened: is it the right command?") from None
        if heard != {"hello": True}:
            self._kill()
            raise RunnerError(f"{self._command[0]}: said {str(heard)[:80]} instead of hello")

    def _send(self, message: Mapping[str, Any], deadline: Deadline, late: str) -> None:
        """_Ended with `late` at the deadline: nobody has to read what we write."""
        assert self._process is not None and self._process.stdin is not None
        pipe = self._process.stdin.fileno()
        data = memoryview((json.dumps(message) + "\n").encode())
        with selectors.DefaultSelector() as ready:
            ready.register(pipe, selectors.EVENT_WRITE)
            while data:
                if not ready.select(LOOK_SECONDS):
                    if deadline.is_over(heard=False):
                        raise _Ended(late)
                    continue
                try:
                    data = data[os.write(pipe, data) :]
                except BlockingIOError:
                    continue
                except OSError:
                    raise _Ended(self._how_it_ended()) from None

    def _frame(self, deadline: Deadline, late: str) -> dict[str, Any]:
        """The next line. Raises _Ended at the deadline (with `late`), and when the process is gone or floods us."""
        process = self._process
        assert process is not None and process.stdout is not None and process.stderr is not None
        with selectors.DefaultSelector() as ready:
            ready.register(process.stdout, selectors.EVENT_READ)
            ready.register(process.stderr, selectors.EVENT_READ)
            while b"\n" not in self._buffer:
                found = ready.select(LOOK_SECONDS)
                if deadline.is_over(heard=bool(found)):
                    raise _Ended(late)
                for key, _ in found:
                    data = os.read(key.fd, 65_536)
                    if key.fileobj is process.stderr:
                        self._keep(data)
                        if not data:
                            ready.unregister(process.stderr)
                    elif not data:
                        raise _Ended(self._how_it_ended())
                    else:
                        self._buffer += data
                        self._received += len(data)
                        if self._received > _MOST_FRAMES_BYTES:
                            raise _Ended("it flooded the channel of the answers")
        line, _, self._buffer = self._buffer.partition(b"\n")
        try:
            frame = json.loads(line)
        except (ValueError, RecursionError):
            frame = None
        if not isinstance(frame, dict):
            raise _Ended(_FORGED)
        return frame

    def _hear_the_rest(self, deadline: Deadline) -> None:
        """It printed before it sent its last answer, so what is unread lies in the pipe."""
        assert self._process is not None and self._process.stderr is not None
        with selectors.DefaultSelector() as ready:
            ready.register(self._process.stderr, selectors.EVENT_READ)
            while not deadline.is_over(heard=True) and ready.select(0):
                data = os.read(self._process.stderr.fileno(), 65_536)
                if not data:
                    return
                self._keep(data)

    def _keep(self, data: bytes) -> None:
        """The beginning of what it prints; the rest is read and dropped, so that printing never blocks."""
        room = _MOST_PRINTED - len(self._printed)
        self._printed += data[: max(0, room)]

    def _how_it_ended(self) -> str:
        assert self._process is not None
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(0.5)
        code = self._process.returncode
        if code is None:
            return "it closed the channel of the answers"
        if code == child.NO_MEMORY:
            return self._too_much(self._setup.limits.seconds)
        if code < 0:
            name = signal.Signals(-code).name if -code in {int(s) for s in signal.Signals} else str(-code)
            return f"its process was ended by {name}"
        return f"its process ended with exit code {code}"

    def _kill(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        process.kill()
        for pipe in (process.stdin, process.stdout, process.stderr):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()
        process.wait()

    def close(self) -> None:
        self._kill()
        self._home.cleanup()


def _started(command: Sequence[str], **options: Any) -> subprocess.Popen[bytes]:
    try:
        return subprocess.Popen(command, **options)
    except OSError as error:
        raise RunnerError(f"{command[0]}: cannot be started: {error.strerror}") from None


def settled(text: str) -> str:
    """A text without what is another one on each run or machine: addresses, and of paths all but the last part."""
    text = _HOME.sub("k8slab-lab", _ADDRESS.sub("at 0x…", text))
    return _paths().sub(lambda found: found[0].rstrip("/").rpartition("/")[2], text)


@cache
def _paths() -> re.Pattern[str]:
    """The paths of a machine: those of this Python and of this package, and the usual ones."""
    ours = {sys.prefix, sys.base_prefix, tempfile.gettempdir(), str(Path(CHILD).parents[2]), str(Path.home())}
    known = [re.escape(one) for one in sorted(ours - {"/"}, key=len, reverse=True)]
    starts = "|".join([*known, *(f"/{top}" for top in _TOPS)])
    return re.compile(rf"(?<![\w/.])(?:{starts})(?:/[^\s'\"()<>,;:/]*)+")


def _text(found: Mapping[str, Any], key: str, most: int = 300) -> str:
    """A text that the child wrote, if it wrote one."""
    text = found.get(key)
    return clean(text, most) if isinstance(text, str) else ""


def _raised(found: Any) -> Raised:
    """TypeError-proof: whatever the child wrote."""
    if not isinstance(found, Mapping):
        return Raised("Exception", "")
    line = found.get("line")
    return Raised(
        _text(found, "type", 100) or "Exception",
        settled(_text(found, "text")),
        line if type(line) is int and 0 <= line < 1 << 31 else 0,
        _text(found, "code", 200),
        _text(found, "where", 100),
    )


def _result(frame: Mapping[str, Any]) -> Any:
    """What the child answered, once more held to plain values: a solution may have replaced what held it to them."""
    if "raised" in frame:
        return _raised(frame["raised"])
    if "odd" in frame:
        return Odd(_text(frame, "odd", 100), settled(_text(frame, "shown", 60)))
    try:
        return _cleaned(child.plain(frame.get("v")))
    except TypeError as error:
        return Odd(str(error))


def _cleaned(value: Any) -> Any:
    """An answer whose texts can be shown."""
    if isinstance(value, str):
        return clean(settled(value), child.MOST_TEXT)
    if isinstance(value, list):
        return [_cleaned(item) for item in value]
    if isinstance(value, dict):
        return {clean(settled(key)): _cleaned(item) for key, item in value.items()}
    return value


# -- in this process -------------------------------------------------------------------------------


class InProcessRunner:
    """Without processes (in a browser): no limits, and the code could change the checks themselves."""

    says = "Checked in this process: there are no limits here, and an endless loop ends with the kernel."

    def open(self, setup: Setup) -> Session:
        player = child.Player(setup.code, setup.drive, setup.names)
        try:
            player.names()
        except BaseException as error:
            raise Problem(_raised(player.described(error))) from None
        if child.is_slow_to_load(player):
            raise Problem(None, SLOW)
        return _InProcessSession(player)


class _InProcessSession:
    def __init__(self, player: child.Player) -> None:
        self._player = player
        self.notes: list[str] = []
        self.spent = 0.0

    def play(self, script: Script, setting: str = "", needs: Sequence[str] = ()) -> Record:
        found: list[dict[str, Any]] = []
        started = time.monotonic()
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            self._player.play({"script": script, "setting": setting, "needs": needs}, found.append)
        self.spent += time.monotonic() - started
        frames = json.loads(json.dumps(found))
        steps = tuple(Step(n + 1, script[n], _result(frame)) for n, frame in enumerate(frames) if n < len(script))
        return Record(script, steps, "", clean(settled(printed.getvalue()[:_MOST_PRINTED]), _MOST_PRINTED))

    def close(self) -> None:
        """Nothing to close."""
