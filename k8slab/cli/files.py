"""Files that a command was given by name.

Simplified: nothing; this module has no upstream.
"""

from __future__ import annotations

import argparse

__all__ = ["file_name", "trouble"]


def file_name(text: str) -> str:
    """An argument that names a file: the empty text is none, and `Path` would take it for this folder."""
    if not text:
        raise argparse.ArgumentTypeError(f"{text!r}: expected the name of a file")
    return text


def trouble(error: OSError) -> str:
    """What went wrong with which file, without the number of the error: `nope: No such file or directory`."""
    return ": ".join(str(part) for part in (error.filename, error.strerror or error) if part is not None)
