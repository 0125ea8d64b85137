"""The file: it grows, pages are freed and used again, only defragmentation makes it smaller."""

from __future__ import annotations

from k8slab.etcd import Pages, Store

PAGE = 4_096


def test_a_fresh_file_has_five_pages() -> None:
    """20 kB, as `etcdctl endpoint status` shows of a new member."""
    assert (Store().db_size, Store().db_size_in_use) == (20_480, 20_480)


def test_small_records_share_pages_and_large_ones_take_several() -> None:
    pages = Pages()
    for _ in range(36):
        pages.place(100)
    assert pages.size == (5 + 1) * PAGE, "nine tenths of a page: 36 records of 100 bytes"
    pages.place(100)
    assert pages.size == (5 + 2) * PAGE
    pages.place(10_000)
    assert pages.size == (5 + 2 + 3) * PAGE


def test_a_page_is_free_when_its_last_record_is_gone_and_is_used_again() -> None:
    pages = Pages()
    leaves = [pages.place(3_000) for _ in range(10)]
    for leaf in leaves[:6]:
        pages.remove(leaf)
    assert (pages.size, pages.size_in_use) == (15 * PAGE, 9 * PAGE)
    for _ in range(6):
        pages.place(3_000)
    assert (pages.size, pages.size_in_use) == (15 * PAGE, 15 * PAGE), "nothing was added to the file"
    pages.place(3_000)
    assert pages.size == 16 * PAGE
    pages.check_invariants()


def test_compaction_frees_pages_but_the_file_only_shrinks_by_defragmentation() -> None:
    store = Store()
    for _ in range(100):
        store.put(b"k", bytes(3_000))
    before = store.db_size
    assert before == (5 + 100) * PAGE
    store.compact(101)
    assert (store.db_size, store.db_size_in_use) == (before, (5 + 1) * PAGE)
    view = store.view()
    store.defrag()
    assert (store.db_size, store.db_size_in_use) == ((5 + 1) * PAGE,) * 2
    assert {**store.view(), "db_size": before} == {**view, "db_size": before}, "nothing else has changed"
    store.check_invariants()
    for _ in range(99):
        store.put(b"k", bytes(3_000))
    assert store.db_size == before
    store.check_invariants()
