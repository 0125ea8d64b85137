"""Table: text, HTML and pandas."""

import pytest

from k8slab.table import Table


def test_columns_line_up_with_three_blanks_between() -> None:
    text = str(Table([("a", 1), ("long-name", None)], columns=("NAME", "N")))
    assert text == "NAME        N\na           1\nlong-name"


def test_html_is_escaped() -> None:
    html = Table([("<b>", "a & b")], columns=("X<", "Y"))._repr_html_()
    assert "<td>&lt;b&gt;</td><td>a &amp; b</td>" in html and '<th scope="col">X&lt;</th>' in html
    assert "<b>" not in html


def test_rows_columns_and_length() -> None:
    table = Table([("a", 1), ("b", 2)], columns=("NAME", "N"))
    assert table.column("N") == [1, 2] and len(table) == 2 and list(table) == [("a", 1), ("b", 2)]
    with pytest.raises(KeyError, match="expected one of NAME, N"):
        table.column("X")


def test_a_row_of_another_length_is_an_error() -> None:
    with pytest.raises(ValueError, match="row 1: 1 cells, expected 2"):
        Table([("a", 1), ("b",)], columns=("NAME", "N"))


def test_to_pandas() -> None:
    pandas = pytest.importorskip("pandas")
    frame = Table([("a", 1)], columns=("NAME", "N")).to_pandas()
    assert isinstance(frame, pandas.DataFrame) and frame.to_dict("records") == [{"NAME": "a", "N": 1}]
