"""What the reference pages know of a package: signatures, docstrings taken apart, floors."""

from __future__ import annotations

import inspect
from pathlib import Path

import pytest

from k8slab.dev import public
from k8slab.dev.public import Block

ROOT = Path(__file__).resolve().parents[3]

TOUR = """One sentence. Another one
over two lines.

    >>> 1 + 1
    2
Upstream: pkg/a,
pkg/b
Simplified: no `metrics`;
    no leader election.

- first
  goes on
- second
"""


def test_a_docstring_is_taken_apart() -> None:
    assert public.blocks(TOUR.replace("2\nUpstream", "2\n\nUpstream")) == [
        Block("paragraph", ("One sentence. Another one over two lines.",)),
        Block("examples", (">>> 1 + 1\n2",)),
        Block("Upstream", ("pkg/a, pkg/b",)),
        Block("Simplified", ("no `metrics`; no leader election.",)),
        Block("list", ("first goes on", "second")),
    ]


def test_a_label_is_found_and_a_first_sentence_ends_at_its_full_stop() -> None:
    doc = "Uses etcd 3.5 and more. The rest.\n\nSimplified: nothing."
    assert public.labelled(doc, "Simplified") == "nothing."
    assert public.labelled(doc, "Upstream") == ""
    assert public.first_sentence(doc) == "Uses etcd 3.5 and more"


def test_text_before_an_example_and_lists_after_text_stay_apart() -> None:
    assert [block.kind for block in public.blocks("Like this:\n>>> x\n1\n\nThen:\n- a\n- b")] == [
        "paragraph",
        "examples",
        "paragraph",
        "list",
    ]
    assert public.blocks("Text.\n\n    a  b\n    c  d") == [
        Block("paragraph", ("Text.",)),
        Block("code", ("a  b\nc  d",)),
    ]


def one(a: int, /, b: str = "x", *, c: list[int] | None = None) -> bool:
    raise AssertionError("only its signature is used")


def other(*args: int, flag: bool, **rest: object) -> None:
    raise AssertionError("only its signature is used")


@pytest.mark.parametrize(
    ("function", "parameters", "returns"),
    [
        (one, ("a: int", "/", "b: str = 'x'", "*", "c: list[int] | None = None"), "bool"),
        (other, ("*args: int", "flag: bool", "**rest: object"), "None"),
    ],
    ids=["positional only and by name only", "what is left over"],
)
def test_a_signature_reads_as_it_was_written(function: object, parameters: tuple[str, ...], returns: str) -> None:
    assert public.signature(function) == (parameters, returns)


def test_no_value_on_a_page_depends_on_the_run() -> None:
    for package in public.packages(ROOT):
        for module in public.load(package).modules:
            for entry in module.entries:
                shown = " ".join([entry.value, *(entry.parameters or ())])
                assert "0x" not in shown.replace(r"b'\x00'", "") and "<function" not in shown, (package, entry.name)


def test_names_are_followed_to_the_module_that_defines_them() -> None:
    assert public.entry("k8slab", "Store").home == "k8slab.etcd.store"
    limits = public.entry("k8slab.etcd", "FROM_KEY")
    assert (limits.kind, limits.value) == ("data", repr(b"\x00"))
    assert public.entry("k8slab.etcd", "CompactedError").kind == "exception"
    assert [member.name for member in public.entry("k8slab.etcd", "EventType").members] == ["PUT", "DELETE"]


def test_members_of_a_class_are_its_own_public_ones() -> None:
    members = {member.name: member for member in public.entry("k8slab.etcd", "KeyIndex").members}
    assert members and not [name for name in members if name.startswith("_")]
    assert all("self" not in (member.parameters or ()) for member in members.values())
    assert all(inspect.cleandoc(member.doc) == member.doc for member in members.values())


def test_floors_are_those_of_the_import_contract_from_the_bottom() -> None:
    floors = public.floors(ROOT)
    assert floors[0] == ["sim"] and floors[1] == ["api", "check"]
    place = {name: number for number, floor in enumerate(floors) for name in floor}
    assert place["etcd"] < place["apiserver"] == place["client"] < place["scheduler"] < place["cluster"] < place["cli"]
