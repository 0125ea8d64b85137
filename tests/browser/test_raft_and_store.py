"""The pictures of a Raft group and of a store: on a page without a kernel, and with Python making the steps."""

from __future__ import annotations

from pathlib import Path

import pytest

from k8slab.etcd import Store, StoreStory
from k8slab.raft import RaftCluster
from k8slab.widgets import Stepper
from tests.browser.pictures import OUTSIDE, Shown, every_step, live, says, takes_an_operation
from tests.browser.visits import LAPTOP, Visitor, both_sizes, both_themes, looks_well
from tests.browser.widget_pages import write_page


def group(size: int) -> Stepper:
    """An election; a write that is agreed on; a deposed leader with a write that is lost; a crash."""
    raft = RaftCluster(size, seed=7, in_step=True)
    at = raft.loop.call_later
    at(1_400, lambda: raft.propose("x=1"))
    if size > 2:
        at(1_450, lambda: raft.partition([raft.leader]))
        at(1_460, lambda: raft.propose("x=2", via=raft.leader))
        at(3_700, lambda: raft.crash(min(id for id in raft.alive if id != raft.leader)))
    return Stepper(raft, for_ms=4_500, title=f"A group of {size}")


def store(keys: int = 3, rounds: int = 3) -> Stepper:
    operations = [f"put key-{key} {turn}" for turn in range(rounds) for key in range(keys)]
    late = len(operations) // 2
    more = ["del key-0", f"get key-1 --rev={late}", "put key-0 again", f"compact {late}", "get key-0 --rev=2"]
    return Stepper(StoreStory(Store(), [*operations, *more]))


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A page with a group of three and a store."""
    return write_page(tmp_path_factory.mktemp("pictures") / "page.html", [group(3), store()])


# -- Raft ------------------------------------------------------------------------------------------


def test_a_leader_has_a_crown_and_its_word(address: str, visit: Visitor) -> None:
    shown = Shown(visit(address).page)
    shown.go_to("Node 3 becomes leader at term 1.")
    assert shown.picture.get_attribute("aria-label") == "node 1 follower, node 2 candidate, node 3 leader"
    assert shown.count("path.leader") == 1
    assert "3 leader" in shown.words()
    assert shown.words().count("term 1, vote 3") == 2  # node 2 voted for itself


def test_entries_show_their_term_and_fill_when_they_are_committed(address: str, visit: Visitor) -> None:
    shown = Shown(visit(address).page)
    shown.go_to("Node 3 knows entry 3 is committed.")
    logs = shown.picture.locator("rect.e:has(title)")
    assert logs.locator("title").all_text_contents().count("1 x=1") >= 2
    assert shown.count("rect.done") >= 2
    shown.go_to("Messages between nodes 3 and 1,2 are lost from now on.")
    assert shown.count("rect.done") == 3 * 2  # entries 2 and 3 of three nodes
    assert shown.count("path.cut") == 2
    assert shown.count("path.bar") == 2 * 2 + 3  # a bar at both ends of a cut; where each node has applied up to


def test_an_entry_that_will_be_lost_is_marked_as_a_conflict(address: str, visit: Visitor) -> None:
    shown = Shown(visit(address).page)
    shown.go_to("Node 1 knows entry 4 is committed.")
    assert shown.count("rect.bad") == 1  # x=2 of the deposed leader, where the new leader has its empty entry
    shown.go_to("Node 1 crashes; what its disk has not synced is lost.")
    assert "1 crashed" in shown.words()
    assert shown.count("circle.dead") == 1


def test_messages_are_arrows_with_their_types(address: str, visit: Visitor) -> None:
    shown = Shown(visit(address).page)
    shown.root.get_by_role("button", name="all").click()
    shown.go_to("Node 3 sends MsgVote to node 2, term 1.")
    assert shown.count("path.now") == 1
    words = " ".join(shown.words())
    assert "Vote" in words
    assert "MsgVote" not in words


@pytest.mark.parametrize("members", [1, 2, 4, 5, 6, 7])
@both_sizes
def test_a_group_of_any_size_fits(tmp_path: Path, visit: Visitor, members: int, size: tuple[int, int]) -> None:
    address = write_page(tmp_path / "page.html", [group(members)])
    shown = Shown(visit(address, size=size).page)
    assert shown.page.evaluate("document.documentElement.scrollWidth") <= size[0]
    for _ in every_step(shown, 3):
        assert shown.picture.evaluate(OUTSIDE) == []
        assert shown.count("circle.m") == members
    if size == LAPTOP:
        assert shown.root.locator("section").bounding_box()["height"] <= 570  # type: ignore[index]


# -- the store -------------------------------------------------------------------------------------


def test_versions_and_tombstones(address: str, visit: Visitor) -> None:
    shown = Shown(visit(address).page, 1)
    shown.go_to("Revision 11: del key-0 writes 1 tombstone.")
    assert shown.count("rect.put") == 9
    assert shown.count("path.tomb") == 1
    assert "del" in shown.words()
    assert "deleted" in shown.words()


def test_a_read_has_a_marker_and_what_it_found_a_ring(address: str, visit: Visitor) -> None:
    shown = Shown(visit(address).page, 1)
    shown.go_to("At revision 4, get key-1 --rev=4 finds 1 key.")
    assert "read at 4" in shown.words()
    assert shown.count("rect.ring") == 1
    assert shown.count("line.cursor") == 1
    assert "= 0" in shown.words()  # the values as they were then


def test_compaction_greys_the_past_and_refuses_reads_there(address: str, visit: Visitor) -> None:
    shown = Shown(visit(address).page, 1)
    shown.go_to("Compaction at revision 4 forgets 0 older records.")
    assert "compacted at 4" in shown.words()
    assert shown.count("rect.past") == 1
    shown.page.keyboard.press("End")
    assert (
        shown.text(".txt") == "etcd refuses get key-0 --rev=2: etcdserver: mvcc: required revision has been compacted."
    )
    assert "read at 2: refused" in shown.words()


@both_sizes
def test_a_store_with_many_keys_and_revisions_fits(tmp_path: Path, visit: Visitor, size: tuple[int, int]) -> None:
    address = write_page(tmp_path / "page.html", [store(keys=9, rounds=5)])
    shown = Shown(visit(address, size=size).page)
    assert shown.page.evaluate("document.documentElement.scrollWidth") <= size[0]
    for _ in every_step(shown):
        assert shown.picture.evaluate(OUTSIDE) == []
    assert "3 more keys" in shown.words()


# -- both ------------------------------------------------------------------------------------------


@both_sizes
@both_themes
def test_it_looks_well(address: str, visit: Visitor, size: tuple[int, int], dark: bool) -> None:
    page = visit(address, size=size, dark=dark).page
    for number in (0, 1):
        Shown(page, number).root.get_by_role("slider").fill("11")
    looks_well(page)


def test_without_a_kernel_nothing_can_be_broken(address: str, visit: Visitor) -> None:
    page = visit(address).page
    raft, etcd = Shown(page), Shown(page, 1)
    assert not raft.root.get_by_label("Break or mend").is_visible()
    assert not etcd.root.get_by_label("An operation for the store").is_visible()
    before = raft.text(".txt")
    raft.picture.locator("g:has(> circle.m)").first.click()
    assert raft.text(".txt") == before


# -- live: Python makes the steps, as a kernel would -----------------------------------------------


def test_live_nodes_are_crashed_and_links_cut_in_the_picture(tmp_path: Path, visit: Visitor) -> None:
    raft = RaftCluster(3, seed=7)
    shown = live(visit("about:blank").page, tmp_path, Stepper(raft, until=raft.has_leader, live=True))
    shown.root.get_by_role("slider").fill("999")
    shown.picture.locator("g:has(> circle.m)").nth(1).click()
    says(shown, "Node 2 crashes")
    assert raft.alive == [1, 3]
    shown.picture.locator("g:has(> circle.m)").nth(1).click()
    says(shown, "Node 2 starts")
    assert raft.alive == [1, 3, 2] or raft.alive == [1, 2, 3]
    shown.picture.locator("path.hit").first.dispatch_event("click")
    says(shown, "Messages between nodes 1 and 2 are lost")
    assert shown.count("path.cut") == 1
    shown.root.get_by_label("Break or mend").select_option("heal 1 2")  # the same by keyboard
    shown.root.get_by_role("button", name="do it").press("Enter")
    says(shown, "Messages between nodes 1 and 2 pass again")
    assert raft.network.cuts == []


def test_live_an_operation_is_typed_below_the_store(tmp_path: Path, visit: Visitor) -> None:
    story = StoreStory(Store(), ["put a 1"])
    shown = live(visit("about:blank").page, tmp_path, Stepper(story, live=True))
    takes_an_operation(shown, "An operation for the store", "put w 2", "Revision 3: put w", "put KEY VALUE")
    assert story.store.revision == 3
