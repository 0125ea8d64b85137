"""Solutions of lab 09 that try something else. Each is the right solution, with something added or replaced."""

from __future__ import annotations

from k8slab.lab import find_lab

__all__ = ["HOSTILE", "right", "with_line"]


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
