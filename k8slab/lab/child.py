"""The process that a learner's code runs in: `python -I child.py`, fed over its standard input.

It gets the code and the scripts to play, never what is right: answers go back as plain values, one line after every
operation, and the parent compares them. What the code prints goes to standard error.

It has no imports from this package, so that it starts at once and what it knows gives nothing away. Limits and the
audit hook keep honest mistakes from hurting anybody. They are no wall against somebody who knows Python well: see
`k8slab.lab`.

Simplified: limits that the system does not know (memory on macOS) are left out and named in the answer `ready`.
"""

from __future__ import annotations

import faulthandler
import importlib
import json
import os
import signal
import sys
import types
from collections.abc import Callable, Mapping, Sequence
from typing import Any

SOLUTION = "<solution>"
MOST_TEXT, MOST_ITEMS, DEEPEST = 10_000, 10_000, 20
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_REFUSED = (
    "subprocess.", "os.exec", "os.fork", "os.posix_spawn", "os.spawn", "os.system", "os.startfile", "os.kill", "pty.",
    "ctypes.", "socket.", "_thread.start", "signal.", "syslog.", "os.putenv", "os.setxattr", "resource.", "sqlite3.",
    "cpython.PyInterpreterState_New",
)  # fmt: skip
_CHANGES = (
    "os.remove", "os.rename", "os.rmdir", "os.mkdir", "os.truncate", "os.chmod", "os.chown", "os.link", "os.symlink",
    "os.utime", "shutil.",
)  # fmt: skip

_NO_MODULES = (
    "_cffi_backend", "_ctypes", "_interpreters", "_posixshmem", "_sqlite3", "_xxsubinterpreters", "cffi", "ctypes",
    "multiprocessing", "psutil", "readline", "sqlite3", "zmq",
)  # fmt: skip
_NO_FUNCTIONS = {
    "_posixsubprocess": ("fork_exec",),
    "_thread": ("start_new_thread", "start_new", "start_joinable_thread"),
    "os": ("mkfifo", "mknod", "pidfd_open", "setpriority"),
    "posix": ("mkfifo", "mknod", "pidfd_open", "setpriority"),
    "signal": ("pidfd_send_signal",),
}
"""What no audit hook is asked about, on some Python or on any."""
_READABLE = ("/usr/share/zoneinfo",)
Do = Callable[..., Any]


def type_name(value: object) -> str:
    """The name of a value's type, whatever its metaclass says."""
    found: str = type.__dict__["__name__"].__get__(type(value))
    return found


def plain(value: Any, depth: int = 0) -> Any:
    """A copy made of exactly str, int, float, bool, None, list and dict. TypeError names the type that is none."""
    kind = type(value)
    if value is None or kind is bool or (kind is int and abs(value) < 1 << 62):
        return value
    if kind is float and value == value and abs(value) != float("inf"):
        return value
    if kind is str and len(value) <= MOST_TEXT:
        return value
    if kind in (list, tuple, dict) and len(value) <= MOST_ITEMS and depth < DEEPEST:
        if kind is not dict:
            return [plain(item, depth + 1) for item in value]
        if all(type(key) is str for key in value):
            return {key: plain(item, depth + 1) for key, item in value.items()}
    raise TypeError(type_name(value))


def answer(value: Any) -> dict[str, Any]:
    """What goes back for one result: `v`, or `odd` with the name of its type."""
    try:
        found = plain(value)
    except TypeError as error:
        return {"odd": str(error)[:100]}
    return {"odd": "tuple", "shown": repr(tuple(found))[:60]} if type(value) is tuple else {"v": found}


def described(error: BaseException, code: str) -> dict[str, Any]:
    """An exception as plain values, with the last line of the solution that it went through, and what it is in."""
    line, where, at = 0, "", error.__traceback__
    while at is not None:
        if at.tb_frame.f_code.co_filename == SOLUTION:
            line, where = at.tb_lineno, at.tb_frame.f_code.co_qualname
        at = at.tb_next
    if isinstance(error, SyntaxError) and error.filename == SOLUTION:
        line = error.lineno or 0
    lines = code.split("\n")
    shown = lines[line - 1].strip()[:200] if 0 < line <= len(lines) else ""
    try:
        text = str(error)[:300]
    except BaseException:  # its own __str__ may do anything
        text = ""
    return {"type": type_name(error)[:100], "text": text, "line": line, "code": shown, "where": where[:100]}


class Player:
    """Plays scripts against a solution. Every script gets the solution anew: nothing is left of the one before."""

    def __init__(self, code: str, drive: str, names: Mapping[str, str]) -> None:
        self.code = code
        self._names = names
        self._drive = compile(drive, "<drive>", "exec")
        self._solution = compile(code, SOLUTION, "exec")

    def names(self, needs: Sequence[str] = ()) -> dict[str, Any]:
        """The solution's names. NameError or TypeError for one of `needs` that is missing or is something else."""
        module = types.ModuleType("solution")
        sys.modules["solution"] = module  # where dataclasses look for the module of a class
        found = vars(module)
        exec(self._solution, found)
        for name in needs:
            kind = self._names[name]
            if name not in found:
                raise NameError(f"{name}: the solution does not define it")
            if kind == "class" and not isinstance(found[name], type):
                raise TypeError(f"{name} is {type_name(found[name])}, expected a class")
            if kind == "function" and not callable(found[name]):
                raise TypeError(f"{name} is {type_name(found[name])}, expected a function")
        return found

    def play(self, request: Mapping[str, Any], tell: Callable[[dict[str, Any]], None]) -> None:
        """One answer for every operation of the request's `script`; after an exception the next operation goes on."""
        try:
            drive: dict[str, Any] = {"__name__": "drive"}
            exec(self._drive, drive)
            do: Do = drive["drive"](self.names(request["needs"]), request["setting"])
        except BaseException as error:
            tell({"raised": described(error, self.code), "last": True})
            return
        for op in request["script"]:
            try:
                found = answer(do(*op))
            except BaseException as error:  # SystemExit and KeyboardInterrupt of the solution's own, too
                found = {"raised": described(error, self.code)}
            tell(found)


def refusals(forbidden: Sequence[str], closed: Sequence[str], home: str) -> tuple[Callable[..., None], list[str]]:
    """An audit hook, and the list of what it refused so far."""
    tried: list[str] = []
    realpath, starts = os.path.realpath, str.startswith
    inside = [realpath(path) + os.sep for path in closed]
    own = realpath(home) + os.sep
    package = realpath(f"{__file__}/../..")
    readable = [own, *(realpath(place) + os.sep for place in (sys.base_prefix, sys.prefix, package, *_READABLE))]
    never, no_events, no_changes, writing = (*forbidden, *_NO_MODULES), _REFUSED, _CHANGES, _WRITING
    labs = f"{os.sep}_labs{os.sep}"

    def refuse(what: str, error: type[Exception]) -> None:
        if len(tried) < 20:
            tried.append(what)
        raise error(what)

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        if event == "import":
            name = str(arguments[0])
            for one in never:
                if name == one or starts(name, one + "."):
                    why = "this lab asks you to write it" if one in forbidden else "not in a lab"
                    refuse(f"importing {one}: {why}", ImportError)
        elif event == "open" and isinstance(arguments[0], (str, bytes, os.PathLike)):
            path = realpath(os.fsdecode(arguments[0]))
            if labs in path or any(starts(path + os.sep, folder) for folder in inside):
                refuse("opening a file of the lab or of its answer", PermissionError)
            mode, flags = arguments[1] or "", arguments[2] or 0
            is_writing = any(letter in str(mode) for letter in "wax+") or (isinstance(flags, int) and flags & writing)
            if is_writing and not starts(path, own) and path != os.devnull:
                refuse("writing a file", PermissionError)
            if path != os.devnull and not any(starts(path + os.sep, place) for place in readable):
                refuse("opening a file that is not its own", PermissionError)
        elif (starts(event, no_events) and event != "signal.pthread_kill") or starts(event, no_changes):
            refuse(f"{event}: not in a lab", PermissionError)

    return hook, tried


def take_away(tried: list[str]) -> None:
    """Refuse what the audit hook is not asked about."""

    def refused(what: str) -> Callable[..., None]:
        def refuse(*_: Any, **__: Any) -> None:
            if len(tried) < 20:
                tried.append(what)
            raise PermissionError(what)

        return refuse

    for module, names in _NO_FUNCTIONS.items():
        try:
            place = importlib.import_module(module)
        except ImportError:
            continue
        for name in names:
            if hasattr(place, name):
                text = "starting a thread" if module == "_thread" else f"{module}.{name}"
                setattr(place, name, refused(f"{text}: not in a lab"))
    original = os.open

    def opened(path: Any, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
        if dir_fd is not None:
            refused("os.open with dir_fd: not in a lab")()
        return original(path, flags, mode)

    for module in ("os", "posix"):
        setattr(sys.modules[module], "open", opened)  # noqa: B010


def limit(megabytes: int, cpu_seconds: int) -> list[str]:
    """Set what the system lets us set; returns the limits it does not know."""
    missing = []
    try:
        import resource
    except ImportError:
        return ["memory", "cpu", "file size", "processes"]
    wanted = {
        "memory": ("RLIMIT_AS", megabytes << 20),
        "cpu": ("RLIMIT_CPU", cpu_seconds),
        "file size": ("RLIMIT_FSIZE", 1 << 20),
        "core": ("RLIMIT_CORE", 0),
    }
    if hasattr(os, "geteuid") and os.geteuid() != 0:
        wanted["processes"] = ("RLIMIT_NPROC", 0)
    for name, (number, value) in wanted.items():
        try:
            kind = getattr(resource, number)
            hard = resource.getrlimit(kind)[1]
            top = value if hard == resource.RLIM_INFINITY else min(value, hard)
            resource.setrlimit(kind, (top, top))
        except (AttributeError, ValueError, OSError):
            missing.append(name)
    return missing


def main() -> None:
    """Serve until the input ends."""
    requests, out = os.fdopen(os.dup(0), "r", encoding="utf-8"), os.dup(1)
    os.dup2(2, 1)  # what the code prints
    os.close(0)
    os.open(os.devnull, os.O_RDONLY)  # input() finds nothing

    def send(frame: Mapping[str, Any]) -> None:
        data = (json.dumps(frame) + "\n").encode()
        while data:
            data = data[os.write(out, data) :]

    setup = json.loads(requests.readline())
    send({"hello": True})
    missing = limit(setup["megabytes"], setup["cpu_seconds"])
    hook, tried = refusals(setup["forbidden"], setup["closed"], os.path.realpath(os.curdir))
    sys.dont_write_bytecode = True
    sys.unraisablehook = lambda _: None  # else what Python ignores at a script's end (with addresses) counts as printed
    take_away(tried)
    if hasattr(signal, "SIGUSR1"):
        faulthandler.register(signal.SIGUSR1, all_threads=False)  # the parent asks where it stands
    sys.addaudithook(hook)
    try:
        player = Player(setup["code"], setup["drive"], setup["names"])
        player.names()
    except BaseException as error:  # whatever the learner's code does at its top level
        send({"problem": described(error, setup["code"]), "tried": tried})
        return
    send({"ready": True, "missing": missing})
    for line in requests:
        request = json.loads(line)
        number = request["number"]
        player.play(request, lambda found, number=number: send({"number": number, **found}))  # type: ignore[misc]
        sys.stdout.flush()
        send({"number": number, "end": True, "tried": tried})


if __name__ == "__main__":
    main()
