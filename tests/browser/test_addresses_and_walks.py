"""The pictures of addresses and of a packet's way, on a page without a kernel."""

from __future__ import annotations

import pytest

from k8slab import Cluster
from k8slab.cluster import AddressMap
from k8slab.network import WalkStory
from k8slab.widgets import Stepper
from tests.browser.pictures import OUTSIDE, Shown, every_step
from tests.browser.visits import Visit, Visitor, both_sizes, both_themes, looks_well
from tests.browser.widget_pages import write_page
from tests.cni_machines import manifest as pod
from tests.cni_machines import small_node as small


def leaking() -> AddressMap:
    """One node whose runtime lost its notes, and a second that is full."""
    cluster = Cluster(nodes=[small(1), small(2)], cni="bridge")
    cluster.apply([pod(name, "node-1") for name in "ab"] + [pod(f"full-{n}", "node-2") for n in range(5)])
    cluster.run()
    cluster.networks["node-1"].forget()
    cluster.apply([pod("c", "node-1"), pod("late", "node-2")], wait=False)
    return AddressMap(cluster)


def overlapping() -> AddressMap:
    """Two nodes with the same range; one is about to lose its power."""
    cluster = Cluster(nodes=[small(1, "10.244.0.0/24"), small(2, "10.244.0.0/24")], cni="bridge")
    cluster.apply([pod("a", "node-1"), pod("b", "node-2"), pod("third", "node-2")], wait=False)
    return AddressMap(cluster)


def walks() -> list[WalkStory]:
    """To another node by a host port, and a packet that is lost."""
    cluster = Cluster(nodes=2, cni="bridge")
    cluster.apply([pod("a", "node-1"), pod("web", "node-2", ports=[{"containerPort": 80, "hostPort": 8080}])])
    cluster.run()
    assert cluster.fabric is not None
    names = {cluster.networks[f"node-{n}"].netns_of(f"default/{who}"): who for n, who in ((1, "a"), (2, "web"))}
    source = next(path for path, who in names.items() if who == "a")
    stories = [WalkStory(cluster.fabric, "node-1", "10.0.0.3", netns=source, names=names, port=8080)]
    cluster.fabric.drop_route("node-1", "10.244.2.0/24")
    lost = cluster.object("pod/web")["status"]["podIP"]
    return [*stories, WalkStory(cluster.fabric, "node-1", lost, netns=source, names=names)]


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> str:
    things = [
        Stepper(leaking(), for_ms=3_000, title="Leaks"),
        Stepper(overlapping(), for_ms=3_000, title="One range on two nodes"),
        *(Stepper(walk, title=title) for walk, title in zip(walks(), ("There and back", "Lost"), strict=True)),
    ]
    return write_page(tmp_path_factory.mktemp("network") / "page.html", things)


def at_the_end(visit: Visit, number: int) -> Shown:
    shown = Shown(visit.page, number)
    shown.root.get_by_role("button", name="Next step").focus()
    visit.page.keyboard.press("End")
    return shown


def test_leaks_are_hatched_and_counted_and_a_full_node_says_so(address: str, visit: Visitor) -> None:
    shown = at_the_end(visit(address), 0)
    assert {"3 of 5 taken, 2 leaked", "5 of 5 taken"} <= set(shown.words())
    assert (shown.count("rect.leak"), shown.count("rect.held"), shown.count("rect.gateway")) == (2, 6, 2)
    assert shown.count("rect.free") == 2


def test_an_address_on_two_nodes_has_a_double_edge(address: str, visit: Visitor) -> None:
    shown = at_the_end(visit(address), 1)
    assert shown.count("rect.twice") == 2 and shown.count("rect.edge2") == 2
    assert {"1 of 253 taken, 1 on two nodes", "2 of 253 taken, 1 on two nodes"} <= set(shown.words())


def test_a_packet_goes_to_the_right_and_its_answer_comes_back(address: str, visit: Visitor) -> None:
    shown = at_the_end(visit(address, size=(1280, 900)), 2)
    words = shown.words()
    assert words[:4] == ["a", "node-1", "node-2", "web"]
    assert "the answer" in words and shown.count("path.lost") == 0
    assert shown.text(".txt").startswith("Delivered in a: ")


def test_a_packet_that_is_lost_ends_with_a_cross(address: str, visit: Visitor) -> None:
    shown = at_the_end(visit(address), 3)
    assert shown.count("path.lost") == 1
    assert shown.text(".txt").startswith("Dropped in outside: beyond 10.0.255.254 nobody knows a way")


@both_themes
@both_sizes
def test_they_fit_and_can_be_read(address: str, visit: Visitor, size: tuple[int, int], dark: bool) -> None:
    visited = visit(address, size=size, dark=dark)
    for number in range(4):
        shown = at_the_end(visited, number)
        for _ in every_step(shown, 4):
            assert shown.picture.evaluate(OUTSIDE) == []
    looks_well(visited.page)
