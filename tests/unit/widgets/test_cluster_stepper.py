"""A Stepper over a real simulated cluster: budgets, the past and the present alike, live choices."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any

import pytest

from k8slab.cluster import Cluster
from k8slab.widgets import Stepper, expand

WEB = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "web"},
    "spec": {
        "replicas": 3,
        "selector": {"matchLabels": {"app": "web"}},
        "template": {
            "metadata": {"labels": {"app": "web"}},
            "spec": {"containers": [{"name": "web", "image": "nginx:1.27"}]},
        },
    },
}


@contextmanager
def applied() -> Iterator[Cluster]:
    """A cluster that was just told of the Deployment."""
    with closing(Cluster(nodes=3, seed=7)) as cluster:
        cluster.apply(WEB, wait=False)
        yield cluster


@pytest.fixture(scope="module")
def frames() -> dict[str, Any]:
    with applied() as cluster:
        return Stepper(cluster, until=lambda: cluster.ready("deploy/web"), for_ms=60_000).frames


def test_the_story_of_a_deployment_is_short_and_complete(frames: dict[str, Any]) -> None:
    main = [step for step in frames["steps"] if step.get("level") == 1]
    assert len(main) <= 30
    assert main[0]["text"] == "You create Deployment web."
    assert main[-2]["text"] == "The Deployment controller reports 3 of 3 replicas of web ready."
    assert main[-1]["label"].endswith(": Deployment web")
    assert main[-1]["focus"] == "Deployment/default/web"
    assert {step["actor"].partition("/")[0] for step in main} == {"you", "etcd", "kcm", "scheduler", "kubelet"}


def test_four_of_them_are_light_enough_for_a_page(frames: dict[str, Any]) -> None:
    assert 4 * len(json.dumps(frames, ensure_ascii=False, separators=(",", ":"))) < 1_000_000


def test_labels_and_sentences_fit(frames: dict[str, Any]) -> None:
    for step in frames["steps"]:
        assert 0 < len(step["label"]) <= 30
        assert 0 < len(step["text"]) <= 120


def test_every_running_pod_was_caused_by_the_reader(frames: dict[str, Any]) -> None:
    steps = {step["seq"]: step for step in frames["steps"]}
    running = [step for step in frames["steps"] if "and is ready; its kubelet" in step["text"]]
    assert len(running) == 3
    for step in running:
        while "cause" in step:
            step = steps[step["cause"]]
        assert step["actor"] == "you"


def test_the_last_state_is_that_of_the_store(frames: dict[str, Any]) -> None:
    objects = expand(frames)[-1]["objects"]
    assert objects["Deployment/default/web"]["status"]["readyReplicas"] == 3
    pods = [obj for name, obj in objects.items() if name.startswith("Pod/")]
    assert [pod["status"]["phase"] for pod in pods] == ["Running"] * 3
    assert "managedFields" not in json.dumps(objects)


def test_the_main_story_ends_with_the_object_that_its_last_step_speaks_of(frames: dict[str, Any]) -> None:
    last = max(n for n, step in enumerate(frames["steps"]) if step.get("level") == 1)
    assert expand(frames)[last]["objects"]["Deployment/default/web"]["status"]["readyReplicas"] == 3
    with closing(Cluster(nodes=1, seed=7)) as cluster:
        spec = {"containers": [{"name": "web", "image": "nginx:1.27"}]}
        cluster.apply({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web"}, "spec": spec}, wait=False)
        shown = Stepper(cluster).frames
    last = max(n for n, step in enumerate(shown["steps"]) if step.get("level") == 1)
    conditions = expand(shown)[last]["objects"]["Pod/default/web"]["status"]["conditions"]
    assert [one["status"] for one in conditions if one["type"] == "Ready"] == ["True"]


def test_sentences_name_what_has_no_name_yet_and_the_subresource(frames: dict[str, Any]) -> None:
    texts = [step["text"] for step in frames["steps"]]
    pod = next(name for name in expand(frames)[-1]["objects"] if name.startswith("Pod/")).rpartition("/")[2]
    replica_set = pod.rpartition("-")[0]
    told = f"Admission plugin ServiceAccount (mutating) changes 4 fields of Pod {replica_set}-…"
    assert texts.count(told) == 3
    assert f"The API server serves create Pod/binding {pod}." in texts


def test_the_past_looks_as_it_did_when_it_was_the_present(frames: dict[str, Any]) -> None:
    with applied() as cluster:
        cluster.run(until=lambda: cluster.ready("deploy/web"), for_ms=60_000)
        assert Stepper(cluster, since=cluster.started_seq).frames == frames


def test_the_same_seed_gives_the_same_bytes(frames: dict[str, Any]) -> None:
    with applied() as cluster:
        again = Stepper(cluster, until=lambda: cluster.ready("deploy/web"), for_ms=60_000)
    assert json.dumps(again.frames) == json.dumps(frames)


def test_the_reader_can_choose_who_acts() -> None:
    with applied() as cluster:
        stepper = Stepper(cluster, live=True)
        chosen = 0
        for _ in range(60):
            ready = [lane for lane, _ in stepper.frames["ready"]]
            stepper.step(ready[-1] if ready else None)
            chosen += len(ready) > 1
        assert chosen > 5
        while not stepper.step(main=True):
            pass
        assert cluster.ready("deploy/web")
        choices = [given for given in cluster.recording().inputs if given.command == "step_ready"]
        assert len(choices) > 5
        with closing(Cluster.replay(cluster.share(), to_action=cluster.loop.actions)) as again:
            assert again.trace.to_jsonl() == cluster.trace.to_jsonl()


def test_a_step_is_shared_and_opened_elsewhere() -> None:
    with applied() as cluster:
        stepper = Stepper(cluster, until=lambda: cluster.ready("deploy/web"), for_ms=60_000)
        for index in (0, 17, len(stepper.frames["steps"]) - 1):
            stepper.index = index
            there = Stepper.load(stepper.share())
            assert there.here == stepper.here
            assert there.thing.trace.to_jsonl() == "".join(
                line for line in cluster.trace.to_jsonl().splitlines(keepends=True)
                if json.loads(line)["action"] <= stepper.here.action
            )  # fmt: skip
            assert there.step() == "" and there.here.seq > stepper.here.seq, "it goes on from there"
            there.thing.close()  # type: ignore[attr-defined]


@pytest.mark.parametrize("text", [None, 7, b"k8slab1.", ["k8slab1."]])
def test_what_is_no_text_is_refused_as_by_a_cluster(text: Any) -> None:
    with pytest.raises(TypeError, match=r": expected the text that `share` wrote"):
        Stepper.load(text)
    with pytest.raises(TypeError, match=r"or the text that `share` wrote"):
        Cluster.replay(text)


def test_what_is_no_run_of_a_cluster_cannot_be_shared() -> None:
    from tests.toy_cluster import ToyCluster

    with pytest.raises(ValueError, match="only a run of a Cluster can be shared"):
        Stepper(ToyCluster()).share()
