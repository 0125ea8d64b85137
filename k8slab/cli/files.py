"""Files that a command was given by name.

Simplified: nothing; this module has no upstream.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
import tempfile
from pathlib import Path

__all__ = ["cannot_hold_a_file", "file_name", "in_json", "on_terminal", "refused", "trouble", "write_whole"]

_CONTROL = re.compile("[\\x00-\\x08\\x0b-\\x1f\\x7f-\\x9f\\u202a-\\u202e\\u2066-\\u2069\\ud800-\\udfff]")
_CONTROL_IN_JSON = re.compile("[\\x7f-\\x9f\\u202a-\\u202e\\u2066-\\u2069\\ud800-\\udfff]")
"""The others JSON escapes by itself."""


def on_terminal(text: str) -> str:
    """A text of others, with nothing that moves the cursor, changes colours or turns the reading direction.

    >>> print(on_terminal("\\x1b[31mred"))
    \\x1b[31mred
    """
    return _CONTROL.sub(
        lambda found: f"\\x{ord(found[0]):02x}" if ord(found[0]) < 256 else f"\\u{ord(found[0]):04x}", text
    )


def in_json(text: str) -> str:
    """The same for a JSON text, which stays one."""
    return _CONTROL_IN_JSON.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def write_whole(path: Path, text: str) -> None:
    """Write a file whole or not at all: what was there stays until the new one is complete. OSError."""
    raw = text.encode("utf-8", errors="replace")
    path = path.resolve()
    if path.exists() and not path.is_file():  # a pipe, a terminal
        path.write_bytes(raw)
        return
    mode = path.stat().st_mode & 0o777 if path.exists() else 0o666 & ~_umask()
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(raw)
        Path(name).chmod(mode)
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink()
        raise


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def file_name(text: str) -> str:
    """An argument that names a file: the empty text is none, and `Path` would take it for this folder."""
    if not text:
        raise argparse.ArgumentTypeError(f"{text!r}: expected the name of a file")
    return text


def cannot_hold_a_file(name: str) -> str:
    """Why nothing can be written under this name, known before the work; "" if it can."""
    path = Path(name)
    is_wrong = path.is_dir() or not path.absolute().parent.is_dir()
    return on_terminal(f"{name}: expected a file in a folder that exists") if is_wrong else ""


def trouble(error: OSError) -> str:
    """What went wrong with which file, without the number of the error: `nope: No such file or directory`."""
    return on_terminal(": ".join(str(part) for part in (error.filename, error.strerror or error) if part is not None))


def refused(error: OSError | ValueError) -> int:
    """Say on standard error why an input cannot be used. Returns the exit code."""
    print(f"error: {trouble(error) if isinstance(error, OSError) else on_terminal(str(error))}", file=sys.stderr)
    return 1
