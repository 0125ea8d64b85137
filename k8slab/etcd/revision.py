"""A revision: which transaction (`main`) and which write within it (`sub`).

Upstream: etcd server/storage/mvcc/revision.go
"""

from __future__ import annotations

from typing import NamedTuple


class Revision(NamedTuple):
    """Ordered by `main`, then `sub`. All writes of one transaction share `main`."""

    main: int
    sub: int = 0

    def __str__(self) -> str:
        return f"{self.main}.{self.sub}"
