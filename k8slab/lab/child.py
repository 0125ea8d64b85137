"""The process that a learner's code runs in: `python -I child.py`, fed over its standard input.

It gets the code and the scripts to play, never what is right: answers go back as plain values, one line after every
operation, and the parent compares them. What the code prints goes to standard error.

It has no imports from this package, so that it starts at once and what it knows gives nothing away. Limits and the
audit hook keep honest mistakes from hurting anybody. The hook uses nothing that a solution could replace and calls none
of its code. Nothing leads to it: no object that a solution can reach refers to it, and its frames are refused, as all
frames are. All the same it is no wall against somebody who knows Python well: see `k8slab.lab`.

Simplified: limits that the system does not know (memory on macOS) are left out and named in the answer `ready`.
"""

from __future__ import annotations

import importlib
import io
import json
import os
import sys
import time
import types
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, cast

SOLUTION = "<solution>"
MOST_TEXT, MOST_ITEMS, DEEPEST = 10_000, 10_000, 20
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_REFUSED = (
    "subprocess.", "os.exec", "os.fork", "os.posix_spawn", "os.spawn", "os.system", "os.startfile", "os.kill", "pty.",
    "ctypes.", "socket.", "_thread.start", "signal.", "syslog.", "os.putenv", "os.setxattr", "resource.", "sqlite3.",
    "cpython.PyInterpreterState_New", "builtins.breakpoint", "fcntl.", "gc.", "sys._current_",
    "sys.monitoring.", "sys.setprofile", "sys.settrace", "sys.addaudithook",
)  # fmt: skip
_CHANGES = (
    "os.remove", "os.rename", "os.rmdir", "os.mkdir", "os.truncate", "os.chmod", "os.chown", "os.link", "os.symlink",
    "os.utime", "shutil.",
)  # fmt: skip

_NO_MODULES = (
    "_cffi_backend", "_ctypes", "_ctypes_test", "_dbm", "_gdbm", "_interpreters", "_posixshmem", "_sqlite3",
    "_testbuffer", "_testcapi", "_testinternalcapi", "_testlimitedcapi", "_tkinter", "_xxsubinterpreters", "cffi",
    "ctypes", "multiprocessing", "psutil", "readline", "sqlite3", "zmq",
)  # fmt: skip
_NO_OS = (
    "chroot", "memfd_create", "mkfifo", "mknod", "openpty", "pidfd_open", "posix_openpt", "sched_setaffinity",
    "sched_setparam", "sched_setscheduler", "setns", "setpriority", "unshare",
)  # fmt: skip
_NO_FUNCTIONS = {
    "_imp": ("create_builtin",),
    "_posixsubprocess": ("fork_exec",),
    "_signal": ("pidfd_send_signal", "signal"),
    "_thread": ("start_new_thread", "start_new", "start_joinable_thread"),
    "os": _NO_OS,
    "posix": _NO_OS,
    "signal": ("pidfd_send_signal", "signal"),
}
"""What no audit hook is asked about, on some Python or on any."""
_IS_COMPILED = ("numpy", "scipy", "pandas", "matplotlib", "sklearn", "torch")
"""What honest solutions try of it: the first thing that these do would be refused by a stranger name."""
_TRIED_FOR_SPEED = ("yaml._yaml",)
"""Compiled modules that importing this package tries: refused as all are, but nobody is told, since it was not the
solution's doing."""
_FRAMES_OF = ("tb_frame", "gi_frame", "cr_frame", "ag_frame")
_READABLE = ("/usr/share/zoneinfo",)
_SHIFT = 1 << 20
"""By how much the line numbers of a solution are more than those of a file."""
NO_MEMORY = 77
"""The exit code when there is not even memory left to say so."""
_MOST_LINKS = 40
_FILE_NOTES = _ANSWER, _ODD_FILE, _LISTING, _WRITES, _FOREIGN, _FOLDER = (
    "opening a file of the lab or of its answer",
    "opening a file whose name is no plain text",
    "listing a folder that is not its own",
    "writing a file",
    "opening a file that is not its own",
    "opening a folder",
)
_OTHER_NOTES = _ODD_MODULE, _COMPILED, _FRAMES = (
    "importing by a name that is no plain text",
    "importing a compiled module: not in a lab",
    "reading frames: not in a lab",
)
Do = Callable[..., Any]


def exact(text: str, most: int = MOST_TEXT) -> str:
    """The beginning of a text, as exactly a str, whatever its type says of itself."""
    return str.__getitem__(text, slice(most))


def type_name(value: object) -> str:
    """The name of a value's type, whatever its metaclass says."""
    return exact(type.__dict__["__name__"].__get__(type(value)), 100)


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
        return {"odd": error.args[0]}
    return {"odd": "tuple", "shown": repr(tuple(found))[:60]} if type(value) is tuple else {"v": found}


def shifted(code: types.CodeType) -> types.CodeType:
    """The same code with line numbers that no file has: by them a traceback tells, without its frames, what is the
    solution's."""
    consts = tuple(shifted(one) if type(one) is types.CodeType else one for one in code.co_consts)
    return code.replace(co_consts=consts, co_firstlineno=code.co_firstlineno + _SHIFT)


def function_of(code: types.CodeType, line: int, at: int) -> str:
    """The qualified name of the innermost function that is in this line at its instruction `at`; "" if none is."""
    for one in code.co_consts:
        if type(one) is types.CodeType and (found := function_of(one, line, at)):
            return found
    return code.co_qualname if any(number == line and a <= at < b for a, b, number in code.co_lines()) else ""


def described(error: BaseException, code: str, solution: types.CodeType | None = None) -> dict[str, Any]:
    """An exception as plain values, with the last line of the solution that it went through, and what it is in.

    Asks nothing of the exception's own class but its text: that may lie, or never end.
    """
    line, where, last = 0, "", 0
    at = BaseException.__dict__["__traceback__"].__get__(error)
    while at is not None:
        if at.tb_lineno > _SHIFT:
            line, last = at.tb_lineno - _SHIFT, at.tb_lasti
        at = at.tb_next
    if solution is not None and line:
        where = function_of(solution, line + _SHIFT, last)
    if issubclass(type(error), SyntaxError):
        file, number = (SyntaxError.__dict__[name].__get__(error) for name in ("filename", "lineno"))
        line = number if type(file) is str and file == SOLUTION and type(number) is int else line
    lines = code.split("\n")
    shown = lines[line - 1].strip()[:200] if 0 < line <= len(lines) else ""
    try:
        text = exact(str(error), 300)
    except BaseException:  # its own __str__ may do anything
        text = ""
    return {"type": type_name(error), "text": text, "line": line, "code": shown, "where": exact(where, 100)}


Clock = Callable[[], float]
_LONGEST_LOAD, _MOST_LOAD_WORK = 0.5, 0.05
"""Seconds of wall time and of work that loading a solution may take."""


class Player:
    """Plays scripts against a solution. Every script gets the solution anew, in a module of its own. The process stays:
    what a solution writes into a module of Python's own is still there in the next script, and a failure that comes
    of it does not come again when its schedule is replayed."""

    def __init__(self, code: str, drive: str, names: Mapping[str, str]) -> None:
        self.code = code
        self._names = names
        self._drive = compile(drive, "<drive>", "exec")
        self._solution: types.CodeType | None = None

    def described(self, error: BaseException) -> dict[str, Any]:
        """An exception of the solution as plain values."""
        return described(error, self.code, self._solution)

    def names(self, needs: Sequence[str] = ()) -> dict[str, Any]:
        """The solution's names. NameError or TypeError for one of `needs` that is missing or is something else, and
        whatever the solution raises, SyntaxError too."""
        if self._solution is None:
            self._solution = shifted(compile(self.code, SOLUTION, "exec"))
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

    def drive(self) -> Do:
        """What plays operations, anew."""
        drive: dict[str, Any] = {"__name__": "drive"}
        exec(self._drive, drive)
        return cast(Do, drive["drive"])

    def play(self, request: Mapping[str, Any], tell: Callable[[dict[str, Any]], None]) -> None:
        """One answer for every operation of the request's `script`; after an exception the next operation goes on."""
        try:
            do: Do = self.drive()(self.names(request["needs"]), request["setting"])
        except BaseException as error:
            tell({"raised": self.described(error), "last": True})
            return
        for op in request["script"]:
            try:
                found = answer(do(*op))
            except BaseException as error:  # SystemExit and KeyboardInterrupt of the solution's own, too
                found = {"raised": self.described(error)}
            tell(found)


def event_notes() -> list[tuple[str, str]]:
    """How the events begin that are refused, and what is told of them. The last that fits counts."""
    events = [(event, f"{event.rstrip('._')}: not in a lab") for event in (*_REFUSED, *_CHANGES)]
    return [*events, *((f"{module}.{name}", note) for module, name, note in function_notes())]


def module_notes(forbidden: Sequence[str]) -> list[tuple[str, str]]:
    """The modules that are not imported, and what is told of them."""
    written = [(one, f"importing {one}: this lab asks you to write it") for one in forbidden]
    return [*((one, f"importing {one}: not in a lab") for one in (*_NO_MODULES, *_NO_FUNCTIONS)), *written]


def function_notes() -> list[tuple[str, str, str]]:
    """Module and name of the functions that are taken away, and what is told of them."""
    return [
        (
            module,
            name,
            ("starting a thread" if module == "_thread" else f"{module.lstrip('_')}.{name}") + ": not in a lab",
        )
        for module, names in _NO_FUNCTIONS.items()
        for name in names
    ]


def notes(forbidden: Sequence[str]) -> set[str]:
    """All that can be told of what was refused: no word of it is the solution's, which could tell hidden cases so."""
    told = (note[-1] for note in (*event_notes(), *module_notes(forbidden), *function_notes()))
    return {*_FILE_NOTES, *_OTHER_NOTES, *told}


def teller(out: int) -> Callable[[str], None]:
    """Tells the parent what was refused, each thing once, and at once: nothing can take it back. Ends the process if
    somebody has put something else in the channel's place."""
    write, stat, failed, leave, told = os.write, os.fstat, OSError, os._exit, set[str]()
    there = stat(out).st_dev, stat(out).st_ino

    def tell(what: str) -> None:
        if what in told:
            return
        try:
            found = stat(out)
            is_there = (found.st_dev, found.st_ino) == there
        except failed:  # closed
            is_there = False
        if not is_there:
            leave(1)
        told.add(what)
        write(out, b'{"tried": "%s"}\n' % what.encode())

    return tell


def resolver() -> Callable[[str], str]:
    """`os.path.realpath`, made of nothing that a solution could replace."""
    readlink, getcwd, failed, most = os.readlink, os.getcwd, OSError, _MOST_LINKS

    def resolved(path: str) -> str:
        rest = (path if path[:1] == "/" else f"{getcwd()}/{path}").split("/")[::-1]
        done, links = "", 0
        while rest:
            part = rest.pop()
            if part == "..":
                done = done.rpartition("/")[0]
            elif part and part != ".":
                try:
                    target = readlink(f"{done}/{part}")
                except failed:  # no link
                    done = f"{done}/{part}"
                    continue
                links += 1
                if links > most:
                    raise failed("too many links")
                done = "" if target[:1] == "/" else done
                rest += target.split("/")[::-1]
        return done or "/"

    return resolved


def answers(forbidden: Sequence[str], package: str) -> list[str]:
    """How paths begin that hold these modules in this process's own copy of the package, where it has one."""
    places = [f"{package}/{one.partition('.')[2].replace('.', '/')}" for one in forbidden]
    cached = ["{}/__pycache__/{}.".format(*place.rsplit("/", 1)) for place in places]
    return [*(f"{place}/" for place in places), *(f"{place}.py" for place in places), *cached]


def file_rules(forbidden: Sequence[str], closed: Sequence[str]) -> Callable[[str, Any, Any, Any], str]:
    """Says what is wrong with opening or listing something ("": nothing). Made of nothing that can be replaced."""
    resolved, stat, failed, text, number, kind = resolver(), os.stat, OSError, str, int, type
    starts, writing, null = str.startswith, _WRITING, os.devnull
    own, package = resolved(".") + "/", resolved(f"{__file__}/../..")
    inside = tuple(path.casefold() for path in (*(resolved(one) + "/" for one in closed), *answers(forbidden, package)))
    places = (sys.base_prefix, sys.prefix, package, *_READABLE)
    readable = (own, *(resolved(place) + "/" for place in places))
    answer, odd_name, listing, writes, foreign, folder = _FILE_NOTES
    listed = (*readable, *(resolved(place) + "/" for place in sys.path if place))

    def rule(event: str, file: Any, mode: Any, flags: Any) -> str:
        if kind(file) is number:
            return ""
        if event != "open" and file is None:
            file = "."
        if kind(file) is not text:
            return odd_name
        for one in file:
            if "\ud800" <= one <= "\udfff":  # what file this is, the codec would be asked: a solution may replace it
                return odd_name
        path = resolved(file)
        folded = path.casefold() + "/"
        if "/_labs/" in folded or starts(folded, inside):
            return answer
        if event != "open":
            is_own = starts(path + "/", readable) or path + "/" in listed
            return "" if is_own else listing
        if path == null:
            return ""
        changes = kind(flags) is number and flags & writing
        if kind(mode) is text and ("w" in mode or "a" in mode or "x" in mode or "+" in mode):
            changes = True
        if changes and not starts(path, own):
            return writes
        if not starts(path + "/", readable):
            return foreign
        try:
            is_folder = stat(path).st_mode & 0o170000 == 0o040000
        except failed:
            return ""
        return folder if is_folder else ""  # else dir_fd would lead anywhere

    return rule


def refusals(forbidden: Sequence[str], closed: Sequence[str], tell: Callable[[str], None]) -> Callable[..., None]:
    """An audit hook. It and what it calls read no global and no builtin name: a solution could have replaced them."""
    rule = file_rules(forbidden, closed)
    modules, events = (*module_notes(forbidden),), (*event_notes(),)
    never = (*_NO_MODULES, *_NO_FUNCTIONS)
    its_own = tuple(f"{place}/" for place in sys.path if place.endswith("/lib-dynload"))
    odd_name, compiled, frames = _OTHER_NOTES
    of_frames, is_compiled, for_speed = _FRAMES_OF, _IS_COMPILED, _TRIED_FOR_SPEED
    starts, last, kind, text = str.startswith, str.rpartition, type, str
    no_import, no_permission, no_frame = ImportError, PermissionError, ValueError

    def import_rule(name: Any, file: Any) -> str:
        if kind(name) is not text:
            return odd_name
        if file is not None:  # compiled: Python's own only, and the last word of its name alone says what is loaded
            rest = [file.removeprefix(one) for one in its_own if kind(file) is text and starts(file, one)]
            if not rest or "/" in rest[0] or not rest[0].isascii():
                return compiled
            name = last(name, ".")[2] if last(name, ".")[2] in never else name
        what = compiled if last(name, ".")[2] in is_compiled else ""
        for one, note in modules:
            if name == one or starts(name, one + "."):
                what = note
        return what

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        what = ""
        if event == "sys._getframe":  # namedtuple and logging ask, too, and go on without one
            raise no_frame(frames)
        if event == "import":
            what = import_rule(arguments[0], arguments[1])
        elif event == "open":
            what = rule(event, *arguments)
        elif event == "os.listdir" or event == "os.scandir":
            what = rule(event, arguments[0], None, None)
        elif event == "object.__getattr__":
            what = frames if kind(arguments[1]) is text and arguments[1] in of_frames else ""
        elif event != "signal.pthread_kill":
            for one, note in events:
                if starts(event, one):
                    what = note
        if what:
            if not (what == compiled and arguments[0] in for_speed):
                tell(what)
            raise no_import(what) if event == "import" else no_permission(what)

    return hook


def refused(event: str) -> Callable[..., None]:
    """What stands in for a function that is taken away: it tells the audit hook, which refuses. It knows nothing of
    the hook: somebody who changes what it holds changes nothing else."""
    audit = sys.audit

    def refuse(*_: Any, **__: Any) -> None:
        audit(event)

    return refuse


def take_away() -> None:
    """Refuse what the audit hook is not asked about. The modules stay where they are: importing one anew is refused.

    What is built into the interpreter is imported now, since no more of it can be made afterwards: made afresh, a
    module would have all its functions.
    """
    for module in sys.builtin_module_names:
        if module not in _NO_MODULES:
            importlib.import_module(module)
    for module, name, _ in function_notes():
        try:
            place = importlib.import_module(module)
        except ImportError:
            continue
        if hasattr(place, name):
            for known in (os.supports_dir_fd, os.supports_fd, os.supports_follow_symlinks):
                known.discard(getattr(place, name))
            setattr(place, name, refused(f"{module}.{name}"))


def guard(setup: Mapping[str, Any], out: int) -> None:
    """From here on, what is not for a solution is refused. No frame and no name keeps the hook."""
    take_away()
    sys.addaudithook(refusals(setup["forbidden"], setup["closed"], teller(out)))


def limit(megabytes: int, cpu_seconds: int) -> list[str]:
    """Set what the system lets us set; returns the limits it does not know."""
    missing = []
    try:
        import resource
    except ImportError:
        return ["memory", "cpu", "file size", "open files", "processes"]
    wanted = {
        "memory": ("RLIMIT_AS", megabytes << 20),
        "cpu": ("RLIMIT_CPU", cpu_seconds),
        "file size": ("RLIMIT_FSIZE", 1 << 20),
        "core": ("RLIMIT_CORE", 0),
        "open files": ("RLIMIT_NOFILE", 64),
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


def printing() -> None:
    """A standard output as at the start: a solution may have closed it, or put something else there."""
    try:
        sys.stdout = os.fdopen(1, "w", encoding="utf-8", errors="replace", closefd=False)
    except OSError:  # it closed the channel itself: then nothing can be printed
        sys.stdout = io.StringIO()


def flush() -> None:
    """What was printed goes out."""
    try:
        sys.stdout.flush()
    except BaseException:  # closed, or something of the solution's own
        sys.stdout = sys.__stdout__


def naps() -> int:
    """How often this process gave its turn away of its own accord, as who sleeps does; -1: nobody knows."""
    try:
        import resource

        return resource.getrusage(resource.RUSAGE_SELF).ru_nvcsw
    except (ImportError, AttributeError, OSError):  # Windows; a browser, whose module knows limits only
        return -1


def is_slow_to_load(
    player: Player,
    monotonic: Clock = time.monotonic,
    busy: Clock = time.process_time,
    slept: Callable[[], int] = naps,
) -> bool:
    """Whether loading, once everything is imported, takes what the schedules need: it is done anew for each of them.
    Twice, since a busy machine may give no turn once; and who never slept was only kept waiting."""
    for _ in range(2):
        started, worked, before = monotonic(), busy(), slept()
        try:
            player.names()
        except BaseException:  # it loads only once: every schedule will tell
            return False
        may_have_slept = slept() != before or before < 0
        is_long = monotonic() - started > _LONGEST_LOAD and may_have_slept
        if not is_long and busy() - worked <= _MOST_LOAD_WORK:
            return False
    return True


def serve(
    requests: Iterable[str], setup: Mapping[str, Any], missing: list[str], send: Callable[[Mapping[str, Any]], None]
) -> None:
    """Load the solution, then play what is asked until the input ends. `missing`: limits that the system has not."""
    player = Player(setup["code"], setup["drive"], setup["names"])
    try:
        player.drive()  # what it imports is no work of a script's
        player.names()
    except BaseException as error:  # whatever the learner's code does at its top level
        send({"problem": player.described(error)})
        return
    slow = is_slow_to_load(player)
    flush()
    send({"ready": True, "missing": missing, "slow": slow})
    for line in requests:
        request = json.loads(line)
        number = request["number"]
        printing()
        player.play(request, lambda found, number=number: send({"number": number, **found}))  # type: ignore[misc]
        flush()
        send({"number": number, "end": True})


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
    sys.dont_write_bytecode = True
    sys.unraisablehook = lambda _: None  # else what Python ignores at a script's end (with addresses) counts as printed
    guard(setup, out)
    try:
        serve(requests, setup, missing, send)
    except MemoryError:
        os._exit(NO_MEMORY)


if __name__ == "__main__":
    main()
