"""Seeds that a command was given.

Simplified: nothing; this module has no upstream.
"""

from __future__ import annotations

import argparse

__all__ = ["seed_text"]


def seed_text(text: str) -> str:
    """An argument that is a seed: it is printed, so that somebody can type it again.

    >>> seed_text("7")
    '7'
    """
    if not text or not text.isprintable():
        raise argparse.ArgumentTypeError(f"{text[:80]!r}: expected a number or a printable text")
    return text
