"""Generations of one key. The tables are the examples of etcd's server/storage/mvcc/key_index_test.go (3.5)."""

from __future__ import annotations

import pytest

from k8slab.etcd import KeyIndex, Revision

SECOND = ["8.0", "10.0", "12.0"]
THIRD = ["14.0", "14.1", "16.0"]


def history() -> KeyIndex:
    """{2, 4, 6(t)} {8, 10, 12(t)} {14, 14.1, 16(t)} {empty}: the key index of upstream's tests."""
    index = KeyIndex(b"foo")
    index.put(Revision(2))
    index.put(Revision(4))
    index.tombstone(Revision(6))
    index.put(Revision(8))
    index.put(Revision(10))
    index.tombstone(Revision(12))
    index.put(Revision(14))
    index.put(Revision(14, 1))
    index.tombstone(Revision(16))
    return index


def revisions(index: KeyIndex) -> list[list[str]]:
    return [[str(revision) for revision in generation.revisions] for generation in index.generations]


@pytest.mark.parametrize(
    ("at_revision", "expected"),
    [
        pytest.param(17, None, id="after the last tombstone the key is absent"),
        pytest.param(16, None, id="at a tombstone the key is absent"),
        pytest.param(15, Revision(14, 1), id="the larger sub-revision of one transaction wins"),
        pytest.param(14, Revision(14, 1), id="a revision sees its own last write"),
        pytest.param(13, None, id="between two generations the key is absent"),
        pytest.param(12, None, id="at the middle tombstone the key is absent"),
        pytest.param(11, Revision(10), id="between two writes the older one counts"),
        pytest.param(9, Revision(8), id="the first write of a generation lasts until the second"),
        pytest.param(5, Revision(4), id="an old generation can still be read"),
        pytest.param(3, Revision(2), id="the first write of all"),
        pytest.param(1, None, id="before the first write the key is absent"),
    ],
)
def test_get(at_revision: int, expected: Revision | None) -> None:
    assert history().get(at_revision) == expected


@pytest.mark.parametrize(
    ("at_revision", "kept", "expected"),
    [
        pytest.param(1, None, [["2.0", "4.0", "6.0"], SECOND, THIRD, []], id="before the first write nothing goes"),
        pytest.param(2, Revision(2), [["2.0", "4.0", "6.0"], SECOND, THIRD, []], id="the revision itself stays"),
        pytest.param(5, Revision(4), [["4.0", "6.0"], SECOND, THIRD, []], id="the newest older one stays"),
        pytest.param(6, None, [SECOND, THIRD, []], id="a tombstone at the revision takes its generation along"),
        pytest.param(7, None, [SECOND, THIRD, []], id="a finished generation goes"),
        pytest.param(14, Revision(14, 1), [["14.1", "16.0"], []], id="of one transaction only the last write stays"),
        pytest.param(16, None, [[]], id="the last tombstone leaves an empty index"),
    ],
)
def test_compact(at_revision: int, kept: Revision | None, expected: list[list[str]]) -> None:
    index = history()
    assert index.compact(at_revision) == kept
    assert revisions(index) == expected
    index.check_invariants()
    assert index.is_empty == (expected == [[]])


def test_version_counts_the_puts_of_the_living_generation() -> None:
    index = KeyIndex(b"foo")
    index.put(Revision(2))
    index.put(Revision(3))
    assert index.generations[-1].version == 2
    index.tombstone(Revision(4))
    assert index.put(Revision(5)).version == 1
    assert index.generations[-1].created == Revision(5)


def test_version_survives_compaction() -> None:
    index = KeyIndex(b"foo")
    for main in (2, 3, 4):
        index.put(Revision(main))
    index.compact(4)
    assert revisions(index) == [["4.0"]]
    assert index.put(Revision(5)).version == 4
    assert index.generations[-1].created == Revision(2)


def test_a_revision_must_be_newer_than_the_last() -> None:
    index = KeyIndex(b"foo")
    index.put(Revision(5))
    with pytest.raises(ValueError, match=r"revision 5\.0 of key b'foo' is not after 5\.0"):
        index.put(Revision(5))


def test_a_deleted_key_cannot_be_deleted_again() -> None:
    with pytest.raises(ValueError, match="key b'foo' is already deleted"):
        history().tombstone(Revision(20))


def test_check_invariants_names_the_broken_key() -> None:
    index = history()
    index.generations[0].revisions.reverse()
    with pytest.raises(AssertionError, match="revisions of key b'foo' are not strictly increasing"):
        index.check_invariants()
