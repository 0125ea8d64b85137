"""`k8slab explain-pending`: forms of input and output, wrong usage, and that nothing leaves the machine."""

from __future__ import annotations

import io
import json
import socket
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from k8slab.cli.files import write_whole
from k8slab.cli.live_cluster import NotListed, collect
from k8slab.cluster import SnapshotError
from tests.unit.cli.conftest import Answer

Run = Callable[..., Answer]
Json = dict[str, Any]
ROOT = Path(__file__).resolve().parents[3]
EXAMPLE = ROOT / "examples" / "pending.yaml"


def answer_of(k8slab: Run, *arguments: object) -> Json:
    answer = k8slab("explain-pending", *arguments, "-o", "json")
    assert (answer.code, answer.err) == (0, "")
    found: Json = json.loads(answer.out)
    return found


# -- the answer ------------------------------------------------------------------------------------


def test_the_example_is_explained(k8slab: Run) -> None:
    answer = k8slab("explain-pending", EXAMPLE)
    assert (answer.code, answer.err) == (0, "")
    assert "shop/cart-2: unschedulable" in answer.out
    # 4 cores of node-a less the 2.5 of cart-1.
    assert "lower the cpu request of container web from 2 to 1500m (then: node-a)" in answer.out
    assert "it would fit, if you uncordon node node-c (then: node-c)" in answer.out
    assert "preemption: would evict shop/cart-1 from node-a" in answer.out
    assert "node-b   TaintToleration: node(s) had untolerated taint(s); NodeAffinity: " in answer.out


KEYS = {
    "": ["schema", "serverVersion", "nodes", "notes", "pods"],
    "pod": [
        "pod", "owner", "sameAs", "state", "reason", "message", "recorded", "node", "counts", "weights", "verdicts",
        "changes", "changesComplete", "unanswered", "preemption",
    ],
    "verdict": ["feasible", "filters", "raw", "weighted", "total", "kept_for"],
    "change": ["text", "nodes", "steps"],
    "step": ["kind", "text", "object", "field", "before", "after"],
    "preemption": ["node", "victims", "pdbViolations"],
}  # fmt: skip


def test_the_json_has_the_keys_that_are_documented(k8slab: Run) -> None:
    found = answer_of(k8slab, EXAMPLE)
    assert found["schema"] == "k8slab/explain-pending/1"
    checkout = next(pod for pod in found["pods"] if pod["pod"] == "shop/checkout")
    parts = {
        "": found,
        "pod": checkout,
        "verdict": checkout["verdicts"]["node-a"],
        "change": checkout["changes"][0],
        "step": checkout["changes"][0]["steps"][0],
        "preemption": checkout["preemption"],
    }
    assert {name: list(part) for name, part in parts.items()} == KEYS
    text = (ROOT / "docs" / "explain-pending.md").read_text()
    for name in {key for keys in KEYS.values() for key in keys}:
        assert f"`{name}`" in text, f"{name} is not documented"


def test_one_pod_is_asked_for(k8slab: Run) -> None:
    assert [pod["pod"] for pod in answer_of(k8slab, EXAMPLE, "--pod", "shop/checkout")["pods"]] == ["shop/checkout"]


def test_a_bound_pod_is_told_that_it_is_bound(k8slab: Run) -> None:
    [pod] = answer_of(k8slab, EXAMPLE, "--pod", "shop/cart-1")["pods"]
    assert (pod["state"], pod["node"], pod["changes"]) == ("bound", "node-a", [])


def test_a_cluster_without_pending_pods_says_so(k8slab: Run, tmp_path: Path) -> None:
    path = tmp_path / "n.yaml"
    path.write_text("apiVersion: v1\nkind: Node\nmetadata: {name: a}\n")
    assert "no Pod is pending (0 Pods on 1 nodes)" in k8slab("explain-pending", path).out


def test_as_many_changes_as_wanted(k8slab: Run) -> None:
    [pod] = answer_of(k8slab, EXAMPLE, "--pod", "shop/checkout", "--changes", "2")["pods"]
    assert len(pod["changes"]) == 2


def many_nodes(path: Path) -> Path:
    items: list[Json] = [
        {"apiVersion": "v1", "kind": "Node", "metadata": {"name": f"n{n:02}"},
         "status": {"allocatable": {"cpu": "1", "memory": "1Gi", "pods": "9"}}}
        for n in range(60)
    ]  # fmt: skip
    spec = {"containers": [{"name": "c", "resources": {"requests": {"cpu": "2"}}}]}
    items.append({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": spec})
    path.write_text(json.dumps({"kind": "List", "apiVersion": "v1", "items": items}))
    return path


def test_many_nodes_are_grouped_unless_all_are_wanted(k8slab: Run, tmp_path: Path) -> None:
    path = many_nodes(tmp_path / "dump.json")
    assert (
        "60      NodeResourcesFit: Insufficient cpu   n00, n01, n02 and 57 more" in k8slab("explain-pending", path).out
    )
    assert "n59    NodeResourcesFit: Insufficient cpu" in k8slab("explain-pending", path, "--all-nodes").out


def test_standard_input_is_read(k8slab: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    stdin = io.TextIOWrapper(io.BytesIO(EXAMPLE.read_bytes()))
    monkeypatch.setattr(sys, "stdin", stdin)
    assert len(answer_of(k8slab, "-")["pods"]) == 2


def test_the_page_is_whole_and_every_text_is_escaped(k8slab: Run, tmp_path: Path) -> None:
    (tmp_path / "dump.yaml").write_text(
        EXAMPLE.read_text().replace("nodeSelector: {disk: ssd}", 'nodeSelector: {disk: "<b>x"}')
    )
    page = tmp_path / "answer.html"
    assert k8slab("explain-pending", tmp_path / "dump.yaml", "--html", page).code == 0
    html = page.read_text(encoding="utf-8")
    assert html.startswith("<!doctype html>") and html.rstrip().endswith("</html>")
    assert "0/3 nodes are available: " in html
    assert "disk=&lt;b&gt;x" in html and "<b>" not in html
    for outside in ("<script", "http://", "https://", "src=", "<link", "@import"):
        assert outside not in html


def test_the_schedulers_configuration_counts(k8slab: Run, tmp_path: Path) -> None:
    config = tmp_path / "config.yaml"
    config.write_text(
        "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\nprofiles:\n"
        "- plugins: {multiPoint: {disabled: [{name: NodeUnschedulable}, {name: TaintToleration}]}}\n"
    )
    [pod] = answer_of(k8slab, EXAMPLE, "--pod", "shop/checkout", "--config", config)["pods"]
    assert (pod["state"], pod["node"]) == ("fits", "node-c")


def test_a_wrong_configuration_is_refused_in_upstreams_words(k8slab: Run, tmp_path: Path) -> None:
    config = tmp_path / "config.yaml"
    config.write_text("apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\nparalelism: 8\n")
    answer = k8slab("explain-pending", EXAMPLE, "--config", config)
    assert answer.code == 1
    assert 'line 3, column 1: strict decoding error: unknown field "paralelism"' in answer.err


# -- nothing leaves --------------------------------------------------------------------------------


def test_no_socket_is_opened_and_no_secret_is_printed(
    k8slab: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def refuse(*arguments: object, **named: object) -> None:
        raise AssertionError("a socket was opened")

    for name in ("socket", "create_connection", "getaddrinfo"):
        monkeypatch.setattr(socket, name, refuse)
    page = tmp_path / "page.html"
    answer = k8slab("explain-pending", EXAMPLE, "--html", page, "-o", "json")
    assert answer.code == 0
    assert "hush" in EXAMPLE.read_text()
    assert "hush" not in answer.out + page.read_text()


# -- wrong usage and wrong dumps -------------------------------------------------------------------

WRONG = [
    ((), 2, "expected a SNAPSHOT or --kubeconfig FILE, one of them"),
    ((EXAMPLE, "--kubeconfig", "k"), 2, "expected a SNAPSHOT or --kubeconfig FILE, one of them"),
    ((EXAMPLE, "--context", "c"), 2, "--context c: expected --kubeconfig FILE with it"),
    ((EXAMPLE, "--html", "no/such/folder/x.html"), 2, "--html no/such/folder/x.html: expected a file in a folder"),
    ((EXAMPLE, "--html", "."), 2, "--html .: expected a file in a folder that exists"),
    (("\x1b[31mred",), 1, "error: \\x1b[31mred: No such file or directory"),
    ((EXAMPLE, "--changes", "0"), 2, "'0': expected a number from 1 to 100"),
    (("nope.json",), 1, "error: nope.json: No such file or directory"),
    ((EXAMPLE, "--pod", "shop/chekout"), 1, "error: pod 'shop/chekout': not in the snapshot"),
    ((EXAMPLE, "--config", "nope.yaml"), 1, "error: nope.yaml: No such file or directory"),
]  # fmt: skip


@pytest.mark.parametrize(("arguments", "code", "text"), WRONG, ids=[text for *_, text in WRONG])
def test_wrong_usage_is_answered(arguments: tuple[object, ...], code: int, text: str, k8slab: Run) -> None:
    answer = k8slab("explain-pending", *arguments)
    assert (answer.code, answer.out) == (code, "")
    assert text in answer.err


@pytest.mark.parametrize("text", ["# kind: List", '{"kind": "'], ids=["YAML", "JSON"])
def test_a_text_of_powershell_that_is_cut_within_a_character_is_refused(text: str, k8slab: Run, tmp_path: Path) -> None:
    (tmp_path / "dump").write_bytes(text.encode("utf-16") + "\N{GRINNING FACE}".encode("utf-16-le")[:2])
    answer = k8slab("explain-pending", tmp_path / "dump")
    assert (answer.code, answer.out) == (1, "")
    assert f"error: {tmp_path / 'dump'}" in answer.err and "not UTF-16: unexpected end of data" in answer.err


def test_an_empty_file_is_no_cluster(k8slab: Run, tmp_path: Path) -> None:
    (tmp_path / "empty.json").write_text("")
    answer = k8slab("explain-pending", tmp_path / "empty.json")
    assert (answer.code, answer.err) == (1, f"error: {tmp_path / 'empty.json'}: no objects in there\n")


def test_a_wrong_dump_leaves_no_page_behind(k8slab: Run, tmp_path: Path) -> None:
    (tmp_path / "dump.json").write_text('{"kind": "List", "items": [')
    assert k8slab("explain-pending", tmp_path / "dump.json", "--html", tmp_path / "x.html").code == 1
    assert not (tmp_path / "x.html").exists()


# -- straight from a cluster -----------------------------------------------------------------------


def test_without_the_client_the_message_says_what_to_install(
    k8slab: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setitem(sys.modules, "kubernetes", None)  # as if it were not installed
    answer = k8slab("explain-pending", "--kubeconfig", tmp_path / "config")
    assert answer.code == 1
    assert "--kubeconfig needs the Kubernetes client: pip install 'k8slab[live]'" in answer.err


class FakeServer:
    """Lists as an API server gives them: items without kind, a page at a time."""

    def __init__(self, **refused: int) -> None:
        self.refused = refused
        self.asked: list[str] = []

    def get(self, path: str, query: Mapping[str, str]) -> Any:
        self.asked.append(path)
        name = path.rsplit("/", 1)[-1]
        if name in self.refused:
            raise NotListed(self.refused[name], "Forbidden")
        if path == "/version":
            return {"gitVersion": "v1.35.0"}
        if path != "/api/v1/nodes":
            return {"items": None, "metadata": {}}
        assert query["limit"] == "500"
        if "continue" in query:
            return {"items": [{"metadata": {"name": "n2"}}], "metadata": {}}
        return {"items": [{"metadata": {"name": "n1"}}], "metadata": {"continue": "token"}}


def test_a_cluster_is_read_by_lists_alone_page_by_page() -> None:
    server = FakeServer()
    snapshot, notes = collect(server.get)
    assert [node["metadata"]["name"] for node in snapshot.nodes] == ["n1", "n2"]
    assert (snapshot.server_version, notes) == ("v1.35.0", [])
    assert "/apis/policy/v1/poddisruptionbudgets" in server.asked
    assert not any("secrets" in path or "configmaps" in path for path in server.asked)


def test_a_kind_that_may_not_be_listed_is_a_note() -> None:
    _, notes = collect(FakeServer(poddisruptionbudgets=403, version=403).get)
    assert notes == [
        "the server's version is unknown: 403 Forbidden",
        "poddisruptionbudgets could not be listed: 403 Forbidden",
    ]


def test_without_nodes_there_is_no_answer() -> None:
    with pytest.raises(SnapshotError, match="nodes: 403 Forbidden: expected to list them"):
        collect(FakeServer(nodes=403).get)


@pytest.mark.parametrize(
    "text",
    [
        '{"kind": "Secret", "apiVersion": "v1", "metadata": {"name": "s"}, "data": {"a": "aHVzaA=="}}',
        '{"kind": "Table", "apiVersion": "meta.k8s.io/v1", "rows": []}',
    ],
)
def test_a_dump_with_neither_pods_nor_nodes_is_refused(text: str, k8slab: Run, tmp_path: Path) -> None:
    (tmp_path / "d.json").write_text(text)
    answer = k8slab("explain-pending", tmp_path / "d.json")
    assert (answer.code, answer.err) == (1, f"error: {tmp_path / 'd.json'}: no Pod and no Node in there\n")


def test_control_characters_do_not_reach_the_terminal(k8slab: Run, tmp_path: Path) -> None:
    said = {"type": "PodScheduled", "status": "False", "message": "\x1b[31mred\x9b1m \ud800"}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "status": {"conditions": [said]}}
    (tmp_path / "d.json").write_text(json.dumps(pod))
    answer = k8slab("explain-pending", tmp_path / "d.json", "--html", tmp_path / "a.html")
    assert answer.code == 0
    assert "\\x1b[31mred\\x9b1m" in answer.out and "\x1b" not in answer.out
    as_json = k8slab("explain-pending", tmp_path / "d.json", "-o", "json").out
    assert not {"\x1b", "\x9b"} & set(as_json)
    assert json.loads(as_json)["pods"][0]["recorded"] == "\x1b[31mred\x9b1m \ufffd"
    assert [path.name for path in sorted(tmp_path.iterdir())] == ["a.html", "d.json"]


def test_a_file_is_written_whole_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "a.html"
    path.write_text("old")
    path.chmod(0o640)
    write_whole(path, "new")
    assert (path.read_text(), path.stat().st_mode & 0o777) == ("new", 0o640)
    write_whole(Path("/dev/null"), "gone")
    assert Path("/dev/null").is_char_device()


def test_a_verdict_that_no_change_answers_is_named(k8slab: Run, tmp_path: Path) -> None:
    node: Json = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}}
    node["status"] = {"allocatable": {"cpu": "2", "memory": "4Gi", "pods": "10"}}
    volumes = [{"name": "v", "persistentVolumeClaim": {"claimName": "x"}}]
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": {"containers": [], "volumes": volumes}}
    (tmp_path / "d.json").write_text(json.dumps({"kind": "List", "apiVersion": "v1", "items": [node, pod]}))
    answer = k8slab("explain-pending", tmp_path / "d.json", "--html", tmp_path / "a.html")
    said = "o change that this tool knows makes it fit; VolumeRestrictions has none to offer"
    assert f"  n{said}\n" in answer.out
    assert f"<p>N{said}.</p>" in (tmp_path / "a.html").read_text()
    [found] = answer_of(k8slab, tmp_path / "d.json")["pods"]
    assert (found["changesComplete"], found["unanswered"]) == (False, ["VolumeRestrictions"])


def test_a_long_number_of_changes_is_wrong_usage(k8slab: Run) -> None:
    answer = k8slab("explain-pending", EXAMPLE, "--changes", "9" * 5000)
    assert answer.code == 2
    assert "expected a number from 1 to 100" in answer.err
