"""Warning headers: how much of what is said reaches the client. And which audit annotations are kept."""

from __future__ import annotations

import pytest

from k8slab.apiserver.admission import Attributes, Objects
from k8slab.apiserver.handlers.warnings import warning_headers


def said(*texts: str) -> list[str]:
    """What is between the quotes."""
    return [header.removeprefix('299 - "').removesuffix('"') for header in warning_headers(texts)]


@pytest.mark.parametrize(
    ("texts", "lengths"),
    [
        pytest.param(["a" * 4_096], [4_096], id="4,096 characters in one text go out whole"),
        pytest.param(["a" * 4_097], [256], id="one more, and only 256 do"),
        pytest.param(["a" * 4_000, "b" * 96], [4_000, 96], id="so do 4,096 in two"),
        pytest.param(["a" * 4_000, "b" * 97], [256, 97], id="the second cuts the first, not itself"),
        pytest.param(["a" * 4_097, "b" * 300], [256, 256], id="what comes after the cut is cut"),
        pytest.param([f"{i:03}" * 100 for i in range(20)], [256] * 16, id="after 4,096 cut ones there is silence"),
        pytest.param(["ä" * 4_096], [4_096], id="characters count, not bytes"),
    ],
)
def test_long_warnings_are_cut(texts: list[str], lengths: list[int]) -> None:
    assert [len(text) for text in said(*texts)] == lengths


def test_a_text_is_said_once_and_control_characters_never() -> None:
    assert said("a", "", "b\n", "a", "c\\") == ["a", "c\\\\"]
    tail = "d" * 300 + "\n"
    assert said("a" * 4_000, tail) == ["a" * 4_000], "what cannot be said counts nothing"
    assert said("a" * 4_097, tail) == ["a" * 256, "d" * 256], "but cutting may take the control character away"


@pytest.mark.parametrize(
    ("key", "is_kept"),
    [
        pytest.param("v.example.com/k", True, id="a domain and a name"),
        pytest.param("v.example.com/a/b", False, id="two slashes"),
        pytest.param("plain", False, id="no domain"),
        pytest.param("v.example.com/", False, id="no name"),
        pytest.param("V/k", False, id="an upper-case domain"),
        pytest.param("v.example.com/" + "k" * 64, False, id="a name of 64 characters"),
        pytest.param("v.example.com/two words", False, id="a name with a space"),
    ],
)
def test_audit_annotations_have_a_domain_and_a_name(key: str, is_kept: bool) -> None:
    attributes = Objects().attributes("configmaps", {"metadata": {"name": "c"}}, namespace="default")
    assert isinstance(attributes, Attributes)
    attributes.annotate(key, "1")
    attributes.annotate(key, "2")
    assert attributes.context.audit == ({key: "1"} if is_kept else {})
