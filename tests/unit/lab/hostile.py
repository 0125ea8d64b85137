"""Solutions of lab 09 that try something else. Each is the right solution, with something added or replaced."""

from __future__ import annotations

from pathlib import Path

import k8slab
from k8slab.lab import find_lab

__all__ = ["CLOSED", "HOSTILE", "LIES", "PRIES", "right", "with_line"]


def right() -> str:
    return find_lab("09").solution


def wrong() -> str:
    """A queue that takes nothing in."""
    return right().replace("self.queue.append(item)", "pass")


def with_line(method: str, line: str) -> str:
    """The right solution, with a line at the beginning of a method of WorkQueue."""
    head = {
        "add": '        """The item needs work."""\n',
        "get": '        """The item that waits longest, now in work; None: nothing waits."""\n',
    }[method]
    code = right()
    assert code.count(head) == 1
    return code.replace(head, head + "".join(f"        {part}\n" for part in line.split("\n")))


LAST = "\n\nWorkQueue = Cheat\n"
FLOOD = "for fd in range(3, 10):\n    try:\n        os.write(fd, b'x' * (64 << 20))\n    except OSError: pass"
EQUAL = """

class Anything(str):
    def __eq__(self, other): return True
    def __ne__(self, other): return False
    def __hash__(self): return 0


class Cheat(WorkQueue):
    def get(self): return Anything("a")
    def __len__(self): return 0
"""
META = """

class Lies(type):
    __name__ = "str"
    def __eq__(cls, other): return True
    def __hash__(cls): return hash(str)


class Thing(metaclass=Lies):
    def __eq__(self, other): return True


class Cheat(WorkQueue):
    def get(self): return Thing()
"""

HOSTILE: dict[str, str] = {
    "an endless loop when it is loaded": right() + "\nwhile True:\n    pass\n",
    "an endless loop in add": with_line("add", "while True: pass"),
    "a loop that swallows everything": with_line(
        "add", "while True:\n    try:\n        pass\n    except BaseException:\n        pass"
    ),
    "all the memory": with_line("add", "self.hog = [0] * (1 << 34)"),
    "memory, bit by bit": with_line("add", "self.hog = []\nwhile True: self.hog.append(bytearray(1 << 20))"),
    "leaves the process": "import os\n" + with_line("add", "os._exit(0)"),
    "leaves the process when it is loaded": right() + "\nimport os\nos._exit(0)\n",
    "raises SystemExit": with_line("add", "raise SystemExit(0)"),
    "recursion without end": with_line("add", "self.add(item)"),
    "a burst of processes": "import os\n"
    + with_line("add", "for _ in range(30):\n    if os.fork() == 0:\n        os._exit(0)"),
    "a burst of commands": "import subprocess, sys\n"
    + with_line("add", "for _ in range(30):\n    subprocess.Popen([sys.executable, '-c', 'print()'])"),
    "an object equal to everything": right() + EQUAL + LAST,
    "an object with a lying class": right() + META + LAST,
    "replaces what plays it": right()
    + "\nimport sys\nmain = sys.modules['__main__']\nmain.answer = lambda value: {'v': None}\n"
    "main.Player.play = lambda self, request, tell: [tell({'v': None}) for _ in request['script']]\n",
    "forges through frames": "import sys\n"
    + right()
    + """

class Cheat(WorkQueue):
    def get(self):
        frame = sys._getframe()
        while frame is not None and "tell" not in frame.f_locals:
            frame = frame.f_back
        frame.f_locals["tell"]({"v": "a"})
        return "a"
"""
    + LAST,
    "writes into every channel": "import os\n"
    + right()
    + """

class Cheat(WorkQueue):
    def get(self):
        for fd in range(1, 20):
            try:
                os.write(fd, b'{"number": 1, "end": true}\\n')
            except OSError:
                continue
"""
    + LAST,
    "forges at exit": right()
    + """

import atexit, os
def forge():
    os.write(1, b'{"number": 1, "v": true}')
atexit.register(forge)


class Cheat(WorkQueue):
    def get(self): return None
"""
    + LAST,
    "closes all channels": "import os\n" + with_line("add", "os.closerange(0, 64)"),
    "floods the channel": "import os\n" + with_line("add", FLOOD),
    "imports the answer": "from k8slab.client.workqueue import *\n" + wrong(),
    "opens the answer": wrong() + "\nimport k8slab\nfrom pathlib import Path\n"
    "text = (Path(k8slab.__file__).parent / 'client' / 'workqueue' / 'queue.py').read_text()\nexec(text)\n",
    "asks the lab for its solution": wrong() + "\nfrom k8slab.lab import find_lab\nexec(find_lab('09').solution)\n",
    "replaces json": right()
    + "\nimport json\njson.dumps = lambda *a, **k: '{\"v\": null}'\njson.JSONEncoder.default = lambda *a: None\n",
    "a type of its own": right() + "\n\nclass Cheat(WorkQueue):\n    def get(self): return (super().get(),)\n" + LAST,
    "NaN": right() + "\n\nclass Cheat(WorkQueue):\n    def get(self): return float('nan')\n" + LAST,
    "an exception whose text raises": "class Bad(Exception):\n    def __str__(self): raise ValueError\n"
    + with_line("add", "raise Bad"),
}

ANSWER = str(Path(k8slab.__file__).parent / "client" / "workqueue" / "queue.py")
NOTEBOOK = str(find_lab("09").folder / "09-workqueue.ipynb")
CLOSED, FOREIGN = "opening a file of the lab or of its answer", "opening a file that is not its own"
ODD_NAME = "opening a file whose name is no plain text"
FRAMES = "reading frames: not in a lab"
IN_TURNS = f"""import _io
class Path:
    asked = 0
    def __fspath__(self):
        Path.asked += 1
        return {ANSWER!r} if Path.asked == 1 else 'notes.txt'
got = _io.FileIO(Path()).read()"""
LYING_NAME = f"""class Name(str):
    def __str__(self): return 'notes.txt'
    def __fspath__(self): return 'notes.txt'
    def split(self, *a): return ['notes.txt']
got = open(Name({ANSWER!r})).read()"""
LYING_MODULE = """class Name(str):
    def __str__(self): return 'os'
    def __eq__(self, other): return False
    def __hash__(self): return str.__hash__(self)
got = __import__(Name('ctypes'))"""
PATCHED = f"""import builtins, posixpath
builtins.isinstance = builtins.any = lambda *a: False
posixpath.realpath = lambda *a, **k: 'notes.txt'
posixpath._joinrealpath = lambda *a, **k: ('notes.txt', True)
got = open({ANSWER!r}).read()"""

PRIES: dict[str, tuple[str, str]] = {
    "names that the hook might use": (PATCHED, CLOSED),
    "a path that changes while it is asked": (IN_TURNS, ODD_NAME),
    "a path that lies": (LYING_NAME, ODD_NAME),
    "a module's name that lies": (LYING_MODULE, "importing by a name that is no plain text"),
    "a module that is known by another way": (
        "import importlib\ngot = importlib.import_module('k8slab.client.workqueue.queue')",
        "opening a file",  # of the answer, or in a clone that is not installed a foreign one
    ),
    "a loader of its own": (
        f"from importlib.machinery import SourceFileLoader as Loader\ngot = Loader('x', {ANSWER!r}).load_module()",
        CLOSED,
    ),
    "linecache": (f"import linecache\nif got := linecache.getlines({NOTEBOOK!r}): pass\nelse: raise OSError", CLOSED),
    "resources": (
        "from importlib import resources\ngot = resources.files('k8slab.client').joinpath('indexer.py').read_text()",
        "opening a file",
    ),
    "runpy": (f"import runpy\ngot = runpy.run_path({ANSWER!r})", CLOSED),
    "zipimport": (f"import zipimport\ngot = zipimport.zipimporter({NOTEBOOK!r})", CLOSED),
    "around by /proc": (f"got = open('/proc/self/root{ANSWER}').read()", CLOSED),
    "the memory of the grader": ("import os\ngot = open(f'/proc/{os.getppid()}/mem', 'rb').read(1)", FOREIGN),
    "the repository": (f"got = open({str(Path(k8slab.__file__).parents[1] / '.git')!r} + '/HEAD').read()", FOREIGN),
    "a folder to open beside": ("import os, sys\ngot = os.open(sys.prefix, os.O_RDONLY)", "opening a folder"),
    "who else handed in": ("import os\ngot = os.listdir('/')", "listing a folder that is not its own"),
    "the hook among all objects": ("import gc\ngot = gc.get_objects()", "gc: not in a lab"),
    "the hook behind an exception": (
        "try: open('/etc/passwd')\nexcept PermissionError as error: got = error.__traceback__.tb_next.tb_frame",
        FRAMES,
    ),
    "frames of what runs": ("def run(): yield\ngot = run().gi_frame", FRAMES),
    "frames of what waits": ("async def run(): pass\ngot = run().cr_frame", FRAMES),
    "what a stand-in holds": (
        "import os\nfor cell in os.memfd_create.__closure__:\n"
        "    if callable(cell.cell_contents): cell.cell_contents = print\n"
        "got = open('/etc/hostname')",
        FOREIGN,
    ),
    "the real ones, in a list of names": (
        "import os\nfor got in os.supports_dir_fd:\n    if got.__name__ == 'mknod': break\nelse: os.mknod('x')",
        "os.mknod: not in a lab",
    ),
    "a hook of its own": (
        "import sys\nsaid = []\nsys.addaudithook(lambda *of: said.append(of))\n"
        "sys.audit('x')\nif not said: 1 / 0\ngot = 1",
        "sys.addaudithook: not in a lab",
    ),
    "a part of the interpreter, made anew": (
        "import _imp, types\ngot = _imp.create_builtin(types.SimpleNamespace(name='_signal'))",
        "imp.create_builtin: not in a lab",
    ),
    "compiled code by another name": (
        "import _imp, sys, types\nfile = [one for one in sys.path if one.endswith('/lib-dynload')][0] + '/_ctypes.so'\n"
        "got = _imp.create_dynamic(types.SimpleNamespace(name='harmless._ctypes', origin=file))",
        "importing _ctypes: not in a lab",
    ),
    "compiled code that it wrote": (
        "import _imp, os, types\nopen('x.so', 'wb').write(b'ELF')\n"
        "got = _imp.create_dynamic(types.SimpleNamespace(name='x', origin=os.getcwd() + '/x.so'))",
        "importing a compiled module: not in a lab",
    ),
    "compiled code around by a folder": (
        "import _imp, os, sys, types\nfile = [one for one in sys.path if one.endswith('/lib-dynload')][0]\n"
        "got = _imp.create_dynamic(types.SimpleNamespace(name='x', origin=file + '/../' * 9 + os.getcwd() + '/x.so'))",
        "importing a compiled module: not in a lab",
    ),
    "a name that the codec asks the solution about": (
        "import codecs\ncodecs.register_error('surrogateescape', lambda e: (b'/../../etc/passwd', e.end))\n"
        "got = open('x\\ud800').read()",
        ODD_NAME,
    ),
    "a name in bytes": ("got = open(b'/etc/passwd').read()", ODD_NAME),
    "the hook while it runs": ("import sys\ngot = sys.settrace(print)", "sys.settrace: not in a lab"),
    "frames of everybody": ("import sys\ngot = sys._current_frames()", "sys._current: not in a lab"),
    "an answer to signals": (
        "import signal\ngot = signal.signal(signal.SIGALRM, print)",
        "signal.signal: not in a lab",
    ),
    "a process": ("import _posixsubprocess as p\ngot = p.fork_exec()", "posixsubprocess.fork_exec: not in a lab"),
    "a process, imported anew": (
        "import sys\ndel sys.modules['_posixsubprocess']\nimport _posixsubprocess as got",
        "importing _posixsubprocess: not in a lab",
    ),
    "signals for a pipe": ("import fcntl\ngot = fcntl.fcntl(1, fcntl.F_GETFL)", "fcntl: not in a lab"),
    "compiled code": ("import rpds as got", "importing a compiled module: not in a lab"),
    "Tcl, which opens files": ("import tkinter as got", "importing _tkinter: not in a lab"),
    "an event of its own": ("import sys\ngot = sys.audit('os.system\"}')", "os.system: not in a lab"),
    "breakpoint": ("got = breakpoint()", "builtins.breakpoint: not in a lab"),
}
"""Lines that want what is not theirs, and how the grader's note begins. With it, each raises NotImplementedError."""

TEXT = "class Text(str):\n    def __getitem__(self, key): return {1}\n    def __eq__(self, other): return True\n"
TEXT += "    __hash__ = str.__hash__\n"
LIES: dict[str, tuple[str, str]] = {
    "a traceback without end": (
        "class Lie(Exception):\n    @property\n    def __traceback__(self):\n        while True: pass\nraise Lie('x')",
        "'add a' raised Lie: x in ",
    ),
    "a class of another": (
        "class Lie(Exception):\n    __class__ = SyntaxError\n    filename = lineno = property(exit)\nraise Lie('x')",
        "'add a' raised Lie: x in ",
    ),
    "a text that is a set": (
        TEXT + "class Lie(Exception):\n    def __str__(self): return Text('x')\nraise Lie",
        "'add a' raised Lie: x in ",
    ),
    "a name that is a set": (
        TEXT + "raise type(Text('Lie'), (Exception,), {'__module__': 'x'})('x')",
        "'add a' raised Lie: x in ",
    ),
    "a line that is a set": (
        TEXT + "raise SyntaxError('x', (Text('<solution>'), {1}, 0, ''))",
        "'add a' raised SyntaxError: x",
    ),
    "everything that is played": (
        "import sys\nmain = sys.modules['__main__']\nmain.answer = lambda value: {'v': {'x': [[]]}}",
        "returned a dict, {'x': [[]]}, expected a single plain value",
    ),
    "codecs": ("import codecs\ncodecs.register(lambda name: 1 / 0)\n'x'.encode('nix')", "raised ZeroDivisionError"),
    "a finder": ("import sys\nsys.meta_path[:] = [None]\nimport wave", ": import wave"),
    "too many files": ("self.files = [open(f'x{n}', 'w') for n in range(80)]", "Too many open files"),
    "a crash": ("import faulthandler\nfaulthandler._sigsegv()", "its process was ended by SIGSEGV"),
    "no end of recursion": (
        "import sys\nsys.setrecursionlimit(10 ** 9)\nwhile True:\n    self = [self]",
        "it did not end within",
    ),
    "an end that does not end": (
        "class Bad:\n    def __del__(self):\n        while True: pass\nBad()",
        "it did not end",
    ),
}
"""Lines that lie or break; the beginning of the reason that is told, or a part of it."""
