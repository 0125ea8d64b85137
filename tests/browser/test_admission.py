"""The picture of a create on its way through the stages, on a page without a kernel."""

from __future__ import annotations

from typing import Any

import pytest

from k8slab.api.scheme import RESOURCEQUOTAS, SERVICEACCOUNTS
from k8slab.api.transport import Request
from k8slab.apiserver import APIServer, Passage
from k8slab.etcd import Store
from k8slab.sim import Loop
from k8slab.widgets import Stepper
from tests.browser.pictures import Shown
from tests.browser.visits import Visit, Visitor, both_sizes, both_themes, looks_well
from tests.browser.widget_pages import write_page

POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "web"},
    "spec": {"containers": [{"name": "web", "image": "nginx"}]},
}


def passage(**used: str) -> Passage:
    """A Pod's way, past a quota that is used like this."""
    loop = Loop(seed=7)
    server = APIServer(loop, Store())
    you = server.transport("you")

    async def prepare() -> None:
        account = {"metadata": {"name": "default"}}
        await you.call(Request("create", SERVICEACCOUNTS, "default", body=account))
        quota: Any = {"metadata": {"name": "q"}, "spec": {"hard": {"pods": "1"}}}
        made = await you.call(Request("create", RESOURCEQUOTAS, "default", body=quota))
        status = {"hard": {"pods": "1"}, "used": used}
        await you.call(Request("update", RESOURCEQUOTAS, "default", "q", "status", {**made, "status": status}))

    loop.spawn("you", prepare(), delay_ms=20)
    loop.run(for_ms=100)
    return Passage(server, [POD])


def things() -> list[Stepper]:
    return [Stepper(passage(pods="0"), title="Admitted"), Stepper(passage(pods="1"), title="Refused")]


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> str:
    return write_page(tmp_path_factory.mktemp("admission") / "page.html", things())


def at_the_end(visit: Visit, number: int) -> Shown:
    shown = Shown(visit.page, number)
    shown.root.get_by_role("button", name="Next step").focus()
    visit.page.keyboard.press("End")
    return shown


def test_the_object_is_stored_when_nobody_refuses(address: str, visit: Visitor) -> None:
    shown = at_the_end(visit(address), 0)
    table = shown.text(".adm")
    assert "Answer: 201 Created" in table and "never reached" not in table
    assert shown.root.locator(".adm .stored").count() == 1


def test_a_refusal_ends_it_and_etcd_is_never_reached(address: str, visit: Visitor) -> None:
    shown = at_the_end(visit(address), 1)
    table = shown.text(".adm")
    assert 'Answer: 403 pods "web" is forbidden: exceeded quota: q' in table
    assert table.rstrip().splitlines()[-2].strip() == "never reached"
    assert shown.root.locator(".adm .refuse.now").count() == 1


def test_a_stage_shows_what_it_changed(address: str, visit: Visitor) -> None:
    shown = Shown(visit(address).page, 0)
    shown.go_to("Priority changes 2 fields, such as spec.priority.")
    assert shown.root.locator(".adm .now").inner_text().split() == ["Δ", "Priority", "2", "fields"]
    assert [line.strip() for line in shown.root.locator(".adm .d").all_inner_texts()] == [
        "spec.priority: + 0",
        "spec.preemptionPolicy: + PreemptLowerPriority",
    ]


@both_themes
@both_sizes
def test_it_fits_and_can_be_read(address: str, visit: Visitor, size: tuple[int, int], dark: bool) -> None:
    visited = visit(address, size=size, dark=dark)
    for number in (0, 1):
        shown = at_the_end(visited, number)
        wide = shown.root.locator(".adm").evaluate("t => t.scrollWidth - t.parentElement.clientWidth")
        assert wide <= 0
    looks_well(visited.page)
