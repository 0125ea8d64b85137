"""A small table: rows and columns that print well as text and in a notebook.

>>> print(Table([("web-0", "Running"), ("web-1", "Pending")], columns=("NAME", "STATUS")))
NAME    STATUS
web-0   Running
web-1   Pending

Upstream: cli-runtime/pkg/printers/tabwriter.go (three blanks between columns)
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas

__all__ = ["Table"]

_GAP = 3


class Table:
    """Rows of cells under named columns. Cells are any values; every row has one for each column.

    ValueError when a row is too short or too long.
    """

    def __init__(self, rows: Iterable[Sequence[Any]], columns: Sequence[str]) -> None:
        self.columns = tuple(columns)
        self.rows = tuple(tuple(row) for row in rows)
        for number, row in enumerate(self.rows):
            if len(row) != len(self.columns):
                raise ValueError(f"row {number}: {len(row)} cells, expected {len(self.columns)}")

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        return iter(self.rows)

    def column(self, name: str) -> list[Any]:
        """The cells of one column; KeyError when there is no such column."""
        if name not in self.columns:
            raise KeyError(f"column {name!r}: expected one of {', '.join(self.columns)}")
        index = self.columns.index(name)
        return [row[index] for row in self.rows]

    def __str__(self) -> str:
        lines = [self.columns, *(tuple(map(_text, row)) for row in self.rows)]
        widths = [max(len(line[i]) for line in lines) + _GAP for i in range(len(self.columns))]
        return "\n".join("".join(c.ljust(w) for c, w in zip(line, widths, strict=True)).rstrip() for line in lines)

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        head = "".join(f'<th scope="col">{escape(name)}</th>' for name in self.columns)
        body = "".join(
            "<tr>" + "".join(f"<td>{escape(_text(cell))}</td>" for cell in row) + "</tr>" for row in self.rows
        )
        return f'<table class="k8slab-table"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>'

    def to_pandas(self) -> pandas.DataFrame:
        """The same as a DataFrame; ImportError says what to install when pandas is absent."""
        try:
            import pandas
        except ImportError:
            raise ImportError(
                "Table.to_pandas needs pandas (pip install pandas; the browser edition has none)"
            ) from None
        return pandas.DataFrame(list(self.rows), columns=list(self.columns))


def _text(cell: Any) -> str:
    return "" if cell is None else str(cell).replace("\n", " ")
