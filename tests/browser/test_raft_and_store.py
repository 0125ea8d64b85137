"""The pictures of a Raft group and of a store: on a page without a kernel, and with Python making the steps."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Locator, Page

from k8slab.etcd import Store, StoreStory
from k8slab.raft import RaftCluster
from k8slab.widgets import Stepper
from k8slab.widgets.assets import stepper_esm
from tests.browser.visits import LAPTOP, PHONE, Visit, axe_violations, widgets_drawn
from tests.browser.widget_pages import write_page

Visitor = Callable[..., Visit]
both_themes = pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
both_sizes = pytest.mark.parametrize("size", [LAPTOP, PHONE], ids=["laptop", "phone"])
OUTSIDE = """picture => {
  const box = picture.getBoundingClientRect();
  return [...picture.querySelectorAll("text, rect, circle")].filter(e => !e.matches(".band")).filter(e => {
    const r = e.getBoundingClientRect();
    return r.left < box.left - 1 || r.right > box.right + 1 || r.top < box.top - 1 || r.bottom > box.bottom + 1;
  }).map(e => e.outerHTML.slice(0, 120));
}"""


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


class Shown:
    """One Stepper on a page."""

    def __init__(self, page: Page, number: int = 0) -> None:
        self.page = page
        widgets_drawn(page)
        self.root: Locator = page.locator(".k8slab-widget").nth(number)
        self.picture = self.root.locator(".stage svg").first

    def text(self, selector: str) -> str:
        return self.root.locator(selector).first.inner_text()

    def go_to(self, sentence: str) -> None:
        """To the first step with this sentence, by the keyboard."""
        self.root.get_by_role("button", name="Next step").focus()
        self.page.keyboard.press("Home")
        while self.text(".txt") != sentence:
            before = self.text(".when span")
            self.page.keyboard.press("ArrowRight")
            assert self.text(".when span") != before, f"no step says {sentence!r}"

    def words(self) -> list[str]:
        return [text for text in self.picture.locator("text").all_text_contents() if text]

    def count(self, selector: str) -> int:
        return self.picture.locator(selector).count()


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
    slider = shown.root.get_by_role("slider")
    for value in range(0, int(str(slider.get_attribute("max"))) + 1, 3):
        slider.fill(str(value))
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
    slider = shown.root.get_by_role("slider")
    for value in range(int(str(slider.get_attribute("max"))) + 1):
        slider.fill(str(value))
        assert shown.picture.evaluate(OUTSIDE) == []
    assert "3 more keys" in shown.words()


# -- both ------------------------------------------------------------------------------------------


@both_sizes
@both_themes
def test_there_is_no_accessibility_violation(address: str, visit: Visitor, size: tuple[int, int], dark: bool) -> None:
    page = visit(address, size=size, dark=dark).page
    for number in (0, 1):
        Shown(page, number).root.get_by_role("slider").fill("11")
    assert axe_violations(page, best_practice=True) == []


def test_nothing_is_smaller_than_12_px(address: str, visit: Visitor) -> None:
    page = visit(address, size=PHONE).page
    Shown(page).root.get_by_role("slider").fill("11")
    small = page.evaluate(
        "[...document.querySelectorAll('.k8slab-widget')].flatMap(w => [...w.shadowRoot.querySelectorAll('svg text')])"
        ".filter(e => parseFloat(getComputedStyle(e).fontSize) < 12).map(e => e.outerHTML.slice(0, 80))"
    )
    assert small == []


def test_without_a_kernel_nothing_can_be_broken(address: str, visit: Visitor) -> None:
    page = visit(address).page
    raft, etcd = Shown(page), Shown(page, 1)
    assert not raft.root.get_by_label("Break or mend").is_visible()
    assert not etcd.root.get_by_label("An operation for the store").is_visible()
    before = raft.text(".txt")
    raft.picture.locator("g:has(> circle.m)").first.click()
    assert raft.text(".txt") == before


# -- live: Python makes the steps, as a kernel would -----------------------------------------------

LIVE = """<!doctype html><html lang="en"><meta charset="utf-8"><title>Live</title><main><h1>Live</h1>
<div class="k8slab-widget"></div></main><script type="module">
const state = STATE, on = {};
const model = {
  get: (name) => state[name],
  set: (name, value) => { state[name] = value; },
  on: (name, f) => { on[name] = f; },
  off: (name) => { delete on[name]; },
  async save_changes() {
    if (!state.command) return;
    const command = state.command;
    state.command = null;
    const [trace, index, status] = await kernel(JSON.stringify(command));
    Object.assign(state, { trace, index, status });
    for (const name of ["trace", "index", "status"]) on["change:" + name]?.();
  },
};
const module = await import(URL.createObjectURL(new Blob([ESM], { type: "text/javascript" })));
const el = document.querySelector(".k8slab-widget");
module.default.render({ model, el });
el.setAttribute("data-k8slab", "drawn");
</script>"""


def live(page: Page, folder: Path, stepper: Stepper) -> Shown:
    """A page whose model is the Stepper's, without a comm between them."""
    widget = stepper.widget()

    def kernel(command: str) -> list[Any]:
        widget.command = json.loads(command)
        return [widget.trace, widget.index, widget.status]

    page.expose_function("kernel", kernel)
    state = json.dumps({"trace": widget.trace, "index": widget.index, "live": True, "status": "", "command": None})
    esm = json.dumps(stepper_esm(stepper.frames["views"])).replace("</", "<\\/")
    path = folder / "live.html"
    path.write_text(LIVE.replace("STATE", state).replace("ESM", esm), encoding="utf-8")
    page.goto(path.as_uri())
    page.locator("[data-k8slab=drawn] .stage svg").wait_for()
    shown = Shown.__new__(Shown)
    shown.page, shown.root = page, page.locator(".k8slab-widget")
    shown.picture = shown.root.locator(".stage svg").first
    return shown


def says(shown: Shown, sentence: str) -> None:
    shown.root.locator(".txt", has_text=sentence).wait_for(timeout=5_000)


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
    field = shown.root.get_by_label("An operation for the store")
    field.focus()
    shown.page.keyboard.type("put w 2")  # w, the space and the arrows are not the stepper's here
    shown.page.keyboard.press("Enter")
    says(shown, "Revision 3: put w")
    assert story.store.revision == 3
    field.fill("fly")
    shown.root.get_by_role("button", name="do it").click()
    shown.root.locator(".rdy", has_text="operation 'fly': expected put KEY VALUE").wait_for(timeout=5_000)
    assert axe_violations(shown.page, best_practice=True) == []
