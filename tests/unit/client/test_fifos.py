"""DeltaFIFO and RealFIFO, beyond the golden sequences."""

from __future__ import annotations

import pytest

from k8slab.api.objects import Object, freeze
from k8slab.client import DeletedFinalStateUnknown, Delta, DeltaFIFO, DeltaType, Indexer, RealFIFO
from k8slab.client.delta import BookmarkInfo, ReplacedAllInfo
from k8slab.client.shared_informer import fifo_kind, new_fifo


def pod(name: str, revision: int = 1) -> Object:
    found: Object = freeze({"metadata": {"name": name, "namespace": "default", "resourceVersion": str(revision)}})
    return found


def pop(fifo: DeltaFIFO | RealFIFO) -> list[Delta] | None:
    return fifo.pop(lambda deltas, is_initial: None)


def test_a_delta_fifo_hands_out_all_changes_of_one_key_together() -> None:
    fifo = DeltaFIFO(Indexer())
    fifo.add(pod("a", 1))
    fifo.add(pod("b", 2))
    fifo.update(pod("a", 3))
    fifo.check_invariants()
    deltas = pop(fifo)
    assert deltas is not None
    assert [(delta.type.value, delta.object) for delta in deltas] == [("Added", pod("a", 1)), ("Updated", pod("a", 3))]
    assert pop(fifo) == [Delta(DeltaType.ADDED, pod("b", 2))]
    assert pop(fifo) is None


def test_a_real_fifo_keeps_the_order_between_keys() -> None:
    fifo = RealFIFO()
    fifo.add(pod("a", 1))
    fifo.add(pod("b", 2))
    fifo.update(pod("a", 3))
    fifo.check_invariants()
    order = [deltas[0].object for deltas in iter(lambda: pop(fifo), None)]
    assert order == [pod("a", 1), pod("b", 2), pod("a", 3)]


def test_a_real_deletion_replaces_a_tombstone_but_not_the_other_way_round() -> None:
    known = Indexer()
    known.update(pod("a", 1))
    fifo = DeltaFIFO(known)
    fifo.replace([], "5")
    fifo.delete(pod("a", 4))
    fifo.check_invariants()
    assert pop(fifo) == [Delta(DeltaType.DELETED, pod("a", 4))]
    fifo.delete(pod("a", 4))
    fifo.replace([], "6")
    assert pop(fifo) == [Delta(DeltaType.DELETED, pod("a", 4))]


def test_a_delta_fifo_without_known_objects_forgets_deletions_of_keys_it_has_not_queued() -> None:
    fifo = DeltaFIFO()
    fifo.delete(pod("a"))
    fifo.resync()
    assert len(fifo) == 0
    assert fifo.has_synced


def test_a_tombstone_keeps_the_last_state_that_was_queued() -> None:
    fifo = DeltaFIFO(Indexer())
    fifo.add(pod("a", 3))
    fifo.replace([], "9", cause=7)
    deltas = pop(fifo)
    assert deltas is not None
    assert deltas[-1] == Delta(DeltaType.DELETED, DeletedFinalStateUnknown("default/a", pod("a", 3)), 7)


def test_an_empty_first_list_counts_as_synced_at_once_for_a_delta_fifo_and_after_its_pop_for_an_atomic_one() -> None:
    delta, real = DeltaFIFO(Indexer()), RealFIFO()
    delta.replace([], "1")
    real.replace([], "1")
    assert (delta.has_synced, real.has_synced) == (True, False)
    assert pop(real) == [Delta(DeltaType.REPLACED_ALL, ReplacedAllInfo("1", ()))]
    assert real.has_synced


def test_nobody_sees_synced_while_the_last_object_of_the_first_list_is_being_handled() -> None:
    fifo = RealFIFO()
    fifo.replace([pod("a")], "1")
    seen: list[bool] = []
    fifo.pop(lambda deltas, is_initial: seen.extend([is_initial, fifo.has_synced]))
    assert seen == [True, False]
    assert fifo.has_synced


def test_bookmarks_are_handed_on_by_atomic_fifos_only() -> None:
    atomic, other, delta = RealFIFO(), RealFIFO(Indexer(), atomic=False), DeltaFIFO()
    for fifo in (atomic, other, delta):
        fifo.bookmark("9")
        fifo.check_invariants()
    assert pop(atomic) == [Delta(DeltaType.BOOKMARK, BookmarkInfo("9"))]
    assert (pop(other), pop(delta)) == (None, None)


@pytest.mark.parametrize(("known", "atomic"), [(Indexer(), True), (None, False)], ids=["atomic", "not atomic"])
def test_known_objects_are_needed_exactly_without_atomic_events(known: Indexer | None, atomic: bool) -> None:
    with pytest.raises(ValueError, match="known_objects"):
        RealFIFO(known, atomic=atomic)


class Gates:
    def __init__(self, *on: str) -> None:
        self.on = on

    def enabled(self, name: str) -> bool:
        return name in self.on


@pytest.mark.parametrize(
    ("gates", "kind", "type_"),
    [
        (Gates("InOrderInformers", "AtomicFIFO"), "real", RealFIFO),
        (Gates("InOrderInformers"), "in-order", RealFIFO),
        (Gates("AtomicFIFO"), "delta", DeltaFIFO),
    ],
    ids=["as in 1.36", "as in 1.33 to 1.35", "as before 1.33"],
)
def test_the_gates_choose_the_fifo(gates: Gates, kind: str, type_: type) -> None:
    assert fifo_kind(gates) == kind
    assert isinstance(new_fifo(kind, Indexer()), type_)


def test_an_unknown_fifo_is_named_in_the_error() -> None:
    with pytest.raises(ValueError, match=r"fifo: 'heap': expected real, in-order or delta"):
        new_fifo("heap", Indexer())


def test_the_invariants_of_a_delta_fifo_name_what_is_broken() -> None:
    fifo = DeltaFIFO(Indexer())
    fifo.add(pod("a"))
    fifo.queue.append("default/b")
    with pytest.raises(AssertionError, match="differ"):
        fifo.check_invariants()


def test_the_views_show_what_is_queued() -> None:
    delta, real = DeltaFIFO(), RealFIFO()
    for fifo in (delta, real):
        fifo.add(pod("a"))
        fifo.update(pod("a"))
    assert delta.view() == {"default/a": ["Added", "Updated"]}
    assert real.view() == {"0": "Added", "1": "Updated"}
