"""Server-side tables: shape of the Table object and rules the vectors leave out."""

from typing import Any

import pytest

from k8slab.api.scheme import GVK
from k8slab.api.tables import columns_of, human_duration, row_cells, table
from k8slab.api.times import rfc3339

POD = GVK("", "v1", "Pod")


def pod(**status: Any) -> dict[str, Any]:
    metadata = {"name": "p", "creationTimestamp": rfc3339(0)}
    return {"metadata": metadata, "spec": {"containers": [{"name": "a"}]}, "status": status}


def test_a_table_has_columns_rows_and_what_was_asked_for_of_the_object() -> None:
    result = table(POD, [pod(phase="Succeeded")], 60_000, metadata={"resourceVersion": "7"})
    assert result["metadata"] == {"resourceVersion": "7"}
    assert [c["name"] for c in result["columnDefinitions"]][:3] == ["Name", "Ready", "Status"]
    (row,) = result["rows"]
    assert row["object"]["kind"] == "PartialObjectMetadata" and row["object"]["metadata"]["name"] == "p"
    assert row["conditions"][0]["reason"] == "Succeeded"
    assert table(POD, [pod()], 0, include_object="None")["rows"][0]["object"] is None
    assert table(POD, [pod()], 0, include_object="Object")["rows"][0]["object"]["kind"] == "Pod"


def test_a_bad_include_object_is_an_error_in_upstreams_words() -> None:
    with pytest.raises(ValueError, match='includeObject: Invalid value: "Bogus": must be'):
        table(POD, [], 0, include_object="Bogus")


def test_kinds_without_a_printer_show_their_creation_and_foreign_ones_their_age() -> None:
    obj = {"metadata": {"name": "x", "creationTimestamp": rfc3339(0)}}
    role, widget = GVK("rbac.authorization.k8s.io", "v1", "Role"), GVK("ex.io", "v1", "Widget")
    assert [c.name for c in columns_of(role)] == ["Name", "Created At"]
    assert row_cells(role, obj, 60_000) == ["x", rfc3339(0)]
    assert [c.name for c in columns_of(widget)] == ["Name", "Age"]
    assert row_cells(widget, obj, 300_000) == ["x", "5m"]


def test_an_age_that_is_not_known() -> None:
    assert row_cells(GVK("", "v1", "ServiceAccount"), {"metadata": {"name": "x"}}, 0) == ["x", "<unknown>"]


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (-1, "0s"),
        (-3, "<invalid>"),
        (0, "0s"),
        (120, "2m"),
        (180 * 60, "3h"),
        (8 * 3600, "8h"),
        (365 * 2 * 86400, "2y"),
    ],
)
def test_ages_at_their_borders(seconds: int, text: str) -> None:
    assert human_duration(seconds * 1000) == text
