"""The picture of a store and its watches: where each event is, flags, compaction, on a laptop and a phone."""

from __future__ import annotations

from pathlib import Path

import pytest

from k8slab.etcd import Store, WatchStory
from k8slab.widgets import Stepper
from tests.browser.pictures import OUTSIDE, Shown, every_step, live, takes_an_operation
from tests.browser.visits import Visitor, both_sizes, both_themes, looks_well
from tests.browser.widget_pages import write_page

OPERATIONS = [
    "put a 1", "put b 1", "watch a", "watch a --rev=2", "put a 2", "sync", "read 0", "read 1",
    "put a 3", "read 0", "put a 4", "read 0", "put a 5", "read 0", "del a", "sync", "read 1", "sync", "read 1",
    "compact 7", "watch a --rev=5", "sync",
]  # fmt: skip


def watches() -> Stepper:
    return Stepper(WatchStory(Store(), OPERATIONS, capacity=2))


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A page with a sleeping reader and a compaction."""
    return write_page(tmp_path_factory.mktemp("watches") / "page.html", [watches()])


def test_events_are_filled_when_their_reader_has_them(address: str, visit: Visitor) -> None:
    shown = Shown(visit(address).page)
    shown.go_to("The loop feeds watch 1 revisions 2 4.")
    assert (shown.count("path.ev"), shown.count("path.ev.read")) == (3, 0)  # 4 to watch 0; 2 and 4 to watch 1
    assert "synced, 2 wait" in shown.words()
    shown.go_to("The reader of watch 1 takes revisions 2 4.")
    assert (shown.count("path.ev"), shown.count("path.ev.read")) == (3, 3)


def test_a_victim_has_an_event_aside_and_a_flag_where_it_is_owed_from(address: str, visit: Visitor) -> None:
    shown = Shown(visit(address).page)
    shown.go_to("Revision 8: del a goes to watch 0.")
    assert shown.count("path.ev.kept") == 1
    assert "kept" in shown.words()
    assert "victim, 2 wait" in shown.words()
    assert shown.count("line.debt") == 1
    assert shown.count("path.flag") == 1
    shown.go_to("The loop feeds watch 1 revisions 7 8.")
    assert (shown.count("path.ev.kept"), shown.count("path.flag")) == (0, 0)


def test_compaction_is_a_line_and_cancels_in_words(address: str, visit: Visitor) -> None:
    shown = Shown(visit(address).page)
    shown.go_to("Compaction takes the history before revision 7.")
    assert "compacted at 7" in shown.words()
    assert shown.count("rect.rec.gone") == 4  # a at 2, 4, 5 and 6; b at 3 is current still, and so is a at 7
    shown.page.keyboard.press("End")
    assert "canceled" in shown.words()
    assert (shown.count("path.flag"), shown.count("line.debt")) == (1, 0)  # where it stood; it is owed nothing more
    assert shown.picture.get_attribute("aria-label") == "3 watches, revision 8. As the text says."


@both_sizes
def test_many_watches_and_revisions_fit(tmp_path: Path, visit: Visitor, size: tuple[int, int]) -> None:
    many = [f"put key-{n % 5} {n}" for n in range(30)]
    opened = [f"watch key- --prefix --rev={n + 2}" for n in range(8)]
    reads = [f"read {n}" for n in range(8)]
    story = WatchStory(Store(), [*many[:20], *opened, "sync", *reads, *many[20:], "compact 25"], capacity=2)
    address = write_page(tmp_path / "page.html", [Stepper(story)])
    shown = Shown(visit(address, size=size).page)
    assert shown.page.evaluate("document.documentElement.scrollWidth") <= size[0]
    for _ in every_step(shown):
        assert shown.picture.evaluate(OUTSIDE) == []
    assert "2 more watches" in " ".join(shown.words())


@both_sizes
@both_themes
def test_it_looks_well(address: str, visit: Visitor, size: tuple[int, int], dark: bool) -> None:
    page = visit(address, size=size, dark=dark).page
    Shown(page).root.get_by_role("slider").fill("14")
    looks_well(page)


def test_live_an_operation_is_typed_below(tmp_path: Path, visit: Visitor) -> None:
    story = WatchStory(Store(), ["put a 1"])
    shown = live(visit("about:blank").page, tmp_path, Stepper(story, live=True))
    takes_an_operation(
        shown,
        "An operation for the store and its watches",
        "watch a --rev=2",
        "Watch 0 on a, from revision 2 on, is unsynced",
        "put KEY VALUE",
    )
