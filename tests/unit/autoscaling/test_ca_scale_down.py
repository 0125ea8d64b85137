"""Scale-down of the Cluster Autoscaler, clause by clause of upstream's FAQ (the quoted sentences)."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest

from k8slab.autoscaling.cluster_autoscaler import BlockingReason, NodeGroupConfig, StartDeletion
from tests.autoscaling import MINUTE, CaWorld, groups_of, machine, owned, waiting_pod

TWO = machine("two", 2, 8)
SAFE = "cluster-autoscaler.kubernetes.io/safe-to-evict"
LOCAL = "cluster-autoscaler.kubernetes.io/safe-to-evict-local-volumes"
LONG_ENOUGH = 10 * MINUTE + 20_000
"""The first loop finds a Node unneeded; the first that is more than ten minutes later deletes it."""


def world(size: int = 2, *, max_size: int = 20, min_size: int = 0, types: Any = (TWO,), **options: Any) -> CaWorld:
    """Nodes of 2 CPUs and 8 GiB that are Ready for long, in one group."""
    config = NodeGroupConfig("pool", types[0].name, min_size=min_size, max_size=max_size, size=size)
    w = CaWorld(groups_of(config, types=types), **options)
    w.join()
    return w


def names(w: CaWorld) -> list[str]:
    return list(w.nodes)


def on(w: CaWorld, index: int, name: str, cpu: str = "100m", memory: str = "", **more: Any) -> Any:
    """A Pod that runs on the Node of this number."""
    pod = waiting_pod(name, cpu, memory, **{"owner": "rs", **more})
    w.place(pod, names(w)[index])
    return pod


class TestHowDoesScaleDownWork:
    def test_a_node_is_deleted_when_it_was_unneeded_for_more_than_ten_minutes(self) -> None:
        """ "If a node is unneeded for more than 10 minutes, it will be terminated"."""
        w = world()
        on(w, 0, "busy", "1500m")
        empty = names(w)[1]
        start = w.now_ms + 10_000  # the first loop finds it unneeded
        while not w.deleted:
            w.loop()
        assert w.deleted == [empty]
        assert w.now_ms - start == 10 * MINUTE + 10_000  # more than ten minutes: at exactly ten it stays
        assert w.sizes() == {"pool": 1}

    def test_a_node_that_was_needed_in_between_begins_anew(self) -> None:
        w = world()
        on(w, 0, "busy", "1500m")
        w.loops(9 * MINUTE)
        on(w, 1, "guest", "1500m")
        w.loop()
        del w.pods["guest"]
        w.loops(LONG_ENOUGH - 10_000)
        assert w.deleted == []
        w.loop()
        assert len(w.deleted) == 1

    @pytest.mark.parametrize(
        ("cpu", "memory", "is_little"),
        [
            ("1000m", "", True),
            ("1001m", "", False),
            ("100m", "4Gi", True),
            ("100m", "4097Mi", False),
        ],
        ids=["half of the CPU", "a bit more than half", "half of the memory", "a bit more of the memory"],
    )
    def test_what_counts_is_the_larger_of_cpu_and_memory_requests_at_most_half(
        self, cpu: str, memory: str, is_little: bool
    ) -> None:
        """ "The sum of cpu requests and sum of memory requests [...] smaller than 50% of the node's allocatable"."""
        w = world(3)
        on(w, 0, "p", cpu, memory)
        w.loop()
        assert (w.reason(names(w)[0]) != "NotUnderutilized") is is_little

    def test_usage_plays_no_part_requests_do(self) -> None:
        """M32. A Node whose Pods use all of it and ask for little goes; one that idles under large requests stays."""
        w = world(3)
        hot = on(w, 0, "hot", "100m")
        hot["metadata"]["annotations"] = {"metrics": "cpu: 2000m used"}
        on(w, 1, "idle", "1900m")
        w.loops(11 * MINUTE)
        assert names(w)[0] not in w.deleted or "hot" not in w.pods
        assert w.reason(names(w)[-1]) in ("NotUnderutilized", "NodeGroupMinSizeReached")
        assert all("idle" not in name for name in w.deleted)
        assert any(pod["metadata"]["name"] == "idle" for pod in w.pods.values())

    def test_a_node_whose_pods_fit_nowhere_else_stays(self) -> None:
        """ "Pods that cannot be moved elsewhere due to various constraints (lack of resources, ...)"."""
        w = world(2)
        on(w, 0, "big", "900m")
        on(w, 1, "full", "1200m")
        w.loop()
        assert w.reason(names(w)[0]) == "NoPlaceToMovePods"

    def test_pods_may_not_move_to_nodes_that_are_unneeded_themselves(self) -> None:
        """ "all pods running on the node [...] can be moved to other nodes": not both to each other."""
        w = world(2)
        on(w, 0, "a", "900m")
        on(w, 1, "b", "900m")
        w.loop()
        assert len(w.ca.planner.unneeded) == 1

    def test_empty_nodes_go_together_up_to_ten(self) -> None:
        """ "Empty nodes [...] can be terminated in bulk, up to 10 nodes at a time"."""
        w = world(15)
        w.loops(LONG_ENOUGH)
        assert len(w.deleted) == 10

    def test_nodes_with_pods_go_one_at_a_time(self) -> None:
        """ "Cluster Autoscaler terminates one non-empty node at a time"."""
        w = world(4)
        on(w, 0, "busy", "100m")
        for index in (1, 2, 3):
            on(w, index, f"p{index}", "300m")
        w.loops(LONG_ENOUGH - 10_000)
        result = w.loop()
        deletions = [effect for effect in result.effects if isinstance(effect, StartDeletion)]
        assert [(len(effect.nodes), effect.drain) for effect in deletions] == [(1, True)]

    def test_a_deletion_under_way_takes_up_its_place(self) -> None:
        w = world(4)
        for index in (0, 1, 2, 3):
            on(w, index, f"p{index}", "300m")
        w.loops(LONG_ENOUGH - 10_000)
        first = w.loop(carry_out=False)
        assert first.scale_down == "ScaleDownNodeDeleteStarted"
        w.loop(20_000, carry_out=False)
        assert w.last is not None and w.last.scale_down == "ScaleDownNoNodeDeleted"
        (name,) = w.ca.tracker.drained
        w.ca.deletion_ended(name, ok=True, now_ms=w.now_ms)

    def test_the_example_of_the_faq(self) -> None:
        """ "Pods from A fit on X, pods from B fit on X, and pods from C fit on Y. [...] So C can be terminated
        immediately after A, but B may not." """
        w = world(5)
        a, b, c = names(w)[:3]
        only_x, only_y = {"nodeSelector": {"place": "x"}}, {"nodeSelector": {"place": "y"}}
        x, y = names(w)[3:]
        for node, place in ((x, "x"), (y, "y"), (a, "x"), (b, "x"), (c, "y")):
            w.nodes[node]["metadata"]["labels"]["place"] = place
        on(w, 0, "of-a", "700m", **only_x)
        on(w, 1, "of-b", "700m", **only_x)
        on(w, 2, "of-c", "700m", **only_y)
        on(w, 3, "of-x", "1100m")
        on(w, 4, "of-y", "1100m")
        w.loop()
        unneeded = list(w.ca.planner.unneeded)
        assert len({a, b}.intersection(unneeded)) == 1  # there is room on X for one of them
        assert c in unneeded

    def test_nothing_goes_within_ten_minutes_after_a_scale_up(self) -> None:
        """ "there was a scale-up in the last 10 min (configurable by --scale-down-delay-after-add flag)"."""
        w = world(2)
        on(w, 0, "busy", "1500m")
        w.loops(8 * MINUTE)
        w.add([waiting_pod(name, "1900m", owner=name) for name in ("p", "q")])
        w.loop()
        grown_ms = w.now_ms
        w.pods.pop("p"), w.pods.pop("q")
        w.join()
        while not w.deleted:
            w.loop()
        assert w.now_ms - grown_ms >= 10 * MINUTE

    def test_after_a_failure_three_minutes_pass(self) -> None:
        """ "there was a failed scale-down for this group in the last 3 minutes"."""
        w = world(3)
        on(w, 0, "busy", "1500m")
        w.loops(LONG_ENOUGH - 10_000)
        w.loop(carry_out=False)
        assert w.ca.tracker.in_progress()
        for name in w.ca.tracker.in_progress():
            w.ca.deletion_ended(name, ok=False, now_ms=w.now_ms)
        failed_ms = w.now_ms
        while not w.deleted:
            w.loop()
        assert w.now_ms - failed_ms >= 3 * MINUTE

    def test_delay_after_delete(self) -> None:
        w = world(4, scale_down_delay_after_delete_ms=5 * MINUTE)
        for index in range(4):
            on(w, index, f"p{index}", "300m")
        times = []
        for _ in range(150):
            before = len(w.deleted)
            w.loop()
            if len(w.deleted) > before:
                times.append(w.now_ms)
        assert len(times) >= 2
        assert all(later - earlier >= 5 * MINUTE for earlier, later in pairwise(times))

    def test_unready_nodes_go_after_twenty_minutes(self) -> None:
        """ "scale-down-unready-time: How long an unready node should be unneeded before it is eligible" 20 minutes."""
        w = world(3)
        on(w, 0, "busy", "1500m")
        on(w, 1, "busy2", "1500m")
        broken = names(w)[2]
        w.nodes[broken]["status"]["conditions"][0]["status"] = "Unknown"
        w.loops(20 * MINUTE)
        assert w.deleted == []
        w.loops(20_000)
        assert w.deleted == [broken]

    def test_scale_down_of_unready_nodes_can_be_switched_off(self) -> None:
        w = world(2, scale_down_unready_enabled=False)
        w.nodes[names(w)[0]]["status"]["conditions"][0]["status"] = "False"
        w.loop()
        assert w.reason(names(w)[0]) == "ScaleDownUnreadyDisabled"

    def test_scale_down_can_be_switched_off(self) -> None:
        """ "make sure --scale-down-enabled parameter in command is not set to false"."""
        w = world(2, scale_down_enabled=False)
        w.loops(30 * MINUTE)
        assert w.deleted == [] and not w.ca.planner.unneeded

    def test_a_threshold_of_zero_leaves_only_empty_nodes(self) -> None:
        """How can I prevent Cluster Autoscaler from scaling down non-empty nodes? Set the threshold to 0."""
        w = world(3, scale_down_utilization_threshold=0.0)
        on(w, 0, "tiny", "1m")
        w.loop()
        assert w.reason(names(w)[0]) == "NotUnderutilized"
        assert set(w.ca.planner.unneeded) == set(names(w)[1:])

    def test_a_group_may_have_times_and_thresholds_of_its_own(self) -> None:
        config = NodeGroupConfig("pool", "two", size=2, options={"scale_down_unneeded_time_ms": 2 * MINUTE})
        w = CaWorld(groups_of(config, types=(TWO,)))
        w.join()
        on(w, 0, "busy", "1500m")
        w.loops(2 * MINUTE + 20_000)
        assert len(w.deleted) == 1

    def test_nodes_of_no_group_are_never_removed_but_take_pods(self) -> None:
        w = world(2)
        on(w, 1, "busy", "1900m")
        on(w, 0, "p", "500m")
        mine = dict(w.nodes[names(w)[0]])
        mine["metadata"] = {**mine["metadata"], "name": "mine"}
        mine["spec"] = {}
        w.nodes["mine"] = mine
        w.loops(11 * MINUTE)
        assert len(w.deleted) == 1 and "mine" in w.nodes

    def test_events_of_a_drain_and_of_an_empty_node(self) -> None:
        w = world(3)
        on(w, 0, "busy", "1100m", "1Gi")
        on(w, 1, "moves", "500m", "1Gi")
        w.loops(12 * MINUTE)
        texts = [text for about, _, text in w.events if about == "status"]
        assert f'Scale-down: removing empty node "{w.deleted[0]}"' in texts
        assert (
            f"Scale-down: removing node {w.deleted[1]}, utilization: {{0.25 0.125 0 0 cpu 0.25}}, "
            "pods to reschedule: moves" in texts
        )


class TestWhatTypesOfPodsCanPreventRemoval:
    """What types of pods can prevent CA from removing a node?"""

    def reason(self, pod: Any, *, controllers: Any = None, pdbs: Any = (), **options: Any) -> str:
        """Why the Node of the Pod stays; "" when it may go."""
        w = world(3, **options)
        w.more.update(controllers=controllers, pdbs=pdbs)
        node = names(w)[0]
        for one in pod if isinstance(pod, list) else [pod]:
            w.place(one, node)
        on(w, 1, "busy", "1500m")
        on(w, 2, "busy2", "1100m")
        w.loop()
        if node in w.ca.planner.unneeded:
            return ""
        return w.blocking(node) if w.reason(node) == "BlockedByPod" else w.reason(node)

    def test_a_plain_pod_of_a_replica_set_may_be_moved(self) -> None:
        assert self.reason(waiting_pod("p", "100m", owner="rs")) == ""

    def test_pods_with_restrictive_disruption_budget(self) -> None:
        """ "Pods with restrictive PodDisruptionBudget": no disruption is allowed."""
        pod = waiting_pod("p", "100m", owner="rs", labels={"app": "db"})
        budget = {
            "metadata": {"name": "db", "namespace": "default"},
            "spec": {"selector": {"matchLabels": {"app": "db"}}},
        }
        assert self.reason(pod, pdbs=[{**budget, "status": {"disruptionsAllowed": 0}}]) == "NotEnoughPdb"
        assert self.reason(pod, pdbs=[{**budget, "status": {"disruptionsAllowed": 1}}]) == ""
        other = {**budget, "metadata": {"name": "db", "namespace": "other"}, "status": {"disruptionsAllowed": 0}}
        assert self.reason(pod, pdbs=[other]) == ""

    def test_kube_system_pods_without_a_budget_stay_for_an_hour(self) -> None:
        """ "Kube-system pods that [...] don't have a pod disruption budget set"; 1.36 moves them after
        --blocking-system-pod-distruption-timeout."""
        now = 100 * MINUTE
        young = waiting_pod("dns", "100m", owner="rs", namespace="kube-system", created_ms=now - 10 * MINUTE)
        old = waiting_pod("dns", "100m", owner="rs", namespace="kube-system", created_ms=now - 61 * MINUTE)
        assert self.reason(young) == "UnmovableKubeSystemPod"
        assert self.reason(old) == ""
        assert self.reason(young, skip_nodes_with_system_pods=False) == ""

    def test_kube_system_pods_with_a_budget_may_go_as_it_allows(self) -> None:
        """How to set PDBs to enable CA to move kube-system pods?"""
        pod = waiting_pod(
            "dns", "100m", owner="rs", namespace="kube-system", labels={"app": "dns"}, created_ms=99 * MINUTE
        )
        budget = {"metadata": {"name": "dns", "namespace": "kube-system"},
                  "spec": {"selector": {"matchLabels": {"app": "dns"}}}}  # fmt: skip
        assert self.reason(pod, pdbs=[{**budget, "status": {"disruptionsAllowed": 1}}]) == ""
        assert self.reason(pod, pdbs=[{**budget, "status": {"disruptionsAllowed": 0}}]) == "NotEnoughPdb"

    def test_pods_that_are_not_backed_by_a_controller_object(self) -> None:
        assert self.reason(waiting_pod("p", "100m")) == "NotReplicated"

    @pytest.mark.parametrize(
        ("kind", "version", "strict", "loose"),
        [
            ("ReplicaSet", "apps/v1", "", ""),
            ("StatefulSet", "apps/v1", "", ""),
            ("Job", "batch/v1", "", ""),
            ("ReplicationController", "v1", "", ""),
            ("AIJob", "ai.k8slab.dev/v1", "NotReplicated", ""),
        ],
    )
    def test_controllers_that_are_known_and_others(self, kind: str, version: str, strict: str, loose: str) -> None:
        """--skip-nodes-with-custom-controller-pods"""
        pod = waiting_pod("p", "100m")
        pod["metadata"]["ownerReferences"] = [owned("o", kind, version)]
        assert self.reason(pod) == strict
        assert self.reason(pod, skip_nodes_with_custom_controller_pods=False) == loose

    @pytest.mark.parametrize(
        ("volume", "blocks"),
        [
            ({"hostPath": {"path": "/data"}}, True),
            ({"emptyDir": {}}, True),
            ({"emptyDir": {"medium": "Memory"}}, False),
            ({"configMap": {"name": "c"}}, False),
            ({"secret": {"secretName": "s"}}, False),
            ({"projected": {"sources": []}}, False),
        ],
        ids=["hostPath", "emptyDir", "emptyDir in memory", "ConfigMap", "Secret", "projected"],
    )
    def test_pods_with_local_storage(self, volume: Any, blocks: bool) -> None:
        """ "ConfigMaps, Secrets, Projected volumes and emptyDir with medium=Memory are not [...] local storage"."""
        pod = waiting_pod("p", "100m", owner="rs", volumes=[{"name": "v", **volume}])
        assert self.reason(pod) == ("LocalStorageRequested" if blocks else "")
        assert self.reason(pod, skip_nodes_with_local_storage=False) == ""

    @pytest.mark.parametrize(
        ("listed", "blocks"), [("a,b", False), ("a", True), ("b,c", True), ("", True), ("a, b", True)]
    )
    def test_local_volumes_may_be_given_free_if_all_are_listed(self, listed: str, blocks: bool) -> None:
        """ "and all of the pod's local volumes are listed in the annotation value"."""
        volumes = [{"name": "a", "emptyDir": {}}, {"name": "b", "hostPath": {"path": "/b"}}]
        pod = waiting_pod("p", "100m", owner="rs", volumes=volumes, annotations={LOCAL: listed})
        assert self.reason(pod) == ("LocalStorageRequested" if blocks else "")

    def test_pods_annotated_as_not_safe_to_evict(self) -> None:
        assert (
            self.reason(waiting_pod("p", "100m", owner="rs", annotations={SAFE: "false"})) == "NotSafeToEvictAnnotation"
        )

    def test_safe_to_evict_overrides_what_is_marked_with_a_star(self) -> None:
        """ "Unless the pod has the following annotation": no controller, local storage, kube-system."""
        free = {"annotations": {SAFE: "true"}}
        assert self.reason(waiting_pod("p", "100m", **free)) == ""
        assert self.reason(waiting_pod("p", "100m", volumes=[{"name": "v", "emptyDir": {}}], **free)) == ""
        assert self.reason(waiting_pod("p", "100m", namespace="kube-system", created_ms=99 * MINUTE, **free)) == ""

    def test_pods_that_may_finish_first_keep_the_node_until_they_have(self) -> None:
        """safe-to-evict: on-completion"""
        w = world(2)
        on(w, 0, "busy", "1500m")
        on(w, 1, "job", "100m", annotations={SAFE: "on-completion"})
        w.loops(12 * MINUTE)
        assert w.deleted == []
        assert w.reason(names(w)[1]) == "BlockedByOnCompletionPod"
        del w.pods["job"]
        w.loop()
        assert len(w.deleted) == 1

    def test_a_controller_that_is_gone_or_wants_too_few(self) -> None:
        pod = waiting_pod("p", "100m", owner="rs")
        assert self.reason(pod, controllers={}) == "ControllerNotFound"
        there = {("ReplicaSet", "default", "rs"): {"spec": {"replicas": 2}}}
        assert self.reason(pod, controllers=there) == ""
        assert self.reason(pod, controllers=there, min_replica_count=3) == "MinReplicasReached"

    def test_controllers_are_looked_up_by_kind_and_of_two_kinds_only_those_of_apps(self) -> None:
        """drainability/rules/replicacount: the group counts for DaemonSets and StatefulSets alone."""
        made = waiting_pod("p", "100m", owner="rs")
        for version, kind, reason in (
            ("extensions/v1beta1", "ReplicaSet", "ControllerNotFound"),
            ("batch/v1beta1", "Job", "ControllerNotFound"),
            ("apps.kruise.io/v1", "StatefulSet", ""),
            ("apps/v1", "StatefulSet", "ControllerNotFound"),
        ):
            made["metadata"]["ownerReferences"] = [owned("gone", kind, version)]
            assert self.reason(made, controllers={}) == reason, (version, kind)

    def test_a_pod_that_says_it_is_of_a_daemon_set_needs_no_controller_of_another_kind(self) -> None:
        said = {"cluster-autoscaler.kubernetes.io/daemonset-pod": "true"}
        pod = waiting_pod("p", "100m", owner="rs", annotations=said)
        assert self.reason(pod, controllers={}) == ""

    def test_pods_of_daemon_sets_and_mirror_pods_do_not_matter(self) -> None:
        """ "except these that run on all nodes by default, like manifest-run pods or pods created by daemonsets"."""
        daemon = waiting_pod("ds", "100m", volumes=[{"name": "v", "hostPath": {"path": "/"}}])
        daemon["metadata"]["ownerReferences"] = [owned("ds", "DaemonSet")]
        mirror = waiting_pod("proxy", "100m", annotations={"kubernetes.io/config.mirror": "x"}, namespace="kube-system")
        assert self.reason([daemon, mirror]) == ""

    def test_finished_and_long_terminating_pods_do_not_matter(self) -> None:
        dying = waiting_pod("dying", "100m")
        dying["metadata"]["deletionTimestamp"] = "2026-01-01T00:10:00Z"  # 90 minutes ago
        assert self.reason(dying) == ""
        late = waiting_pod("late", "100m")
        late["metadata"]["deletionTimestamp"] = "2026-01-01T01:39:30Z"  # within its grace period and 30 s
        assert self.reason(late) == "NotReplicated"

    def test_a_nodes_own_annotation(self) -> None:
        """How can I prevent Cluster Autoscaler from scaling down a particular node?"""
        w = world(2)
        w.nodes[names(w)[0]]["metadata"]["annotations"] = {
            "cluster-autoscaler.kubernetes.io/scale-down-disabled": "true"
        }
        w.loops(11 * MINUTE)
        assert w.deleted == [name for name in w.deleted if name != names(w)[0]]
        assert w.reason(names(w)[0]) == "ScaleDownDisabledAnnotation"

    def test_a_group_at_its_minimum(self) -> None:
        """ "the node group already has the minimum size"."""
        w = world(2, min_size=2)
        w.loops(11 * MINUTE)
        assert w.deleted == []
        assert w.reason(names(w)[0]) == "NodeGroupMinSizeReached"
        w = world(4, min_size=3)
        w.loops(11 * MINUTE)
        assert len(w.deleted) == 1

    def test_a_node_that_could_not_be_emptied_is_asked_again_after_five_minutes(self) -> None:
        """ "Cluster Autoscaler will wait for extra 5 minutes before considering it for removal again"."""
        w = world(2)
        on(w, 0, "busy", "1500m")
        on(w, 1, "stuck", "100m", owner="")
        w.loop()
        assert w.reason(names(w)[1]) == "BlockedByPod"
        del w.pods["stuck"]
        w.loops(5 * MINUTE - 10_000)
        assert w.reason(names(w)[1]) == "RecentlyUnremovable"
        w.loop()
        assert names(w)[1] in w.ca.planner.unneeded

    def test_anti_affinity_and_selectors_keep_a_node_when_nobody_else_may_take_its_pods(self) -> None:
        term = {"labelSelector": {"matchLabels": {"app": "db"}}, "topologyKey": "kubernetes.io/hostname"}
        affinity = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
        w = world(2)
        for index in (0, 1):
            on(w, index, f"db{index}", "100m", labels={"app": "db"}, affinity=affinity)
        w.loop()
        assert [w.reason(name) for name in names(w)] == ["NoPlaceToMovePods", "NoPlaceToMovePods"]

    def test_spreading_counts_the_node_that_goes_as_a_place(self) -> None:
        """The ghost: with nodeTaintsPolicy Ignore the tainted Node is still a domain, so nobody else may have two."""
        spread = {"maxSkew": 1, "topologyKey": "kubernetes.io/hostname", "whenUnsatisfiable": "DoNotSchedule",
                  "labelSelector": {"matchLabels": {"app": "web"}}}  # fmt: skip
        w = world(2)
        for index in (0, 1):
            on(w, index, f"w{index}", "100m", labels={"app": "web"}, topologySpreadConstraints=[spread])
        w.loop()
        assert not w.ca.planner.unneeded

    def test_every_reason_of_a_blocking_pod_has_a_test_here(self) -> None:
        from pathlib import Path

        text = Path(__file__).read_text(encoding="utf-8")
        assert [reason.value for reason in BlockingReason if f'"{reason.value}"' not in text] == []


class TestUtilization:
    def daemon(self, w: CaWorld, index: int, cpu: str) -> None:
        pod = waiting_pod(f"ds{index}", cpu)
        pod["metadata"]["ownerReferences"] = [owned("ds", "DaemonSet")]
        w.place(pod, names(w)[index])

    @pytest.mark.parametrize(("ignored", "value"), [(False, 0.6), (True, 0.5)])
    def test_daemon_sets_count_unless_they_are_ignored(self, ignored: bool, value: float) -> None:
        """ "DaemonSet pods and Mirror pods are included by default but this is configurable": (200 + 1000) / 2000, or
        800 / (2000 - 400) with the DaemonSet's 400 taken off both."""
        w = world(2, ignore_daemonsets_utilization=ignored)
        self.daemon(w, 0, "400m")
        on(w, 0, "p", "800m")
        w.loop()
        assert w.ca.planner.utilizations[names(w)[0]].value == pytest.approx(value)

    def test_on_gpu_nodes_only_the_gpu_counts(self) -> None:
        gpu = machine("gpu", 8, 64, gpus=2)
        w = CaWorld(groups_of(NodeGroupConfig("pool", "gpu", size=1), types=(gpu,)))
        w.join()
        wants = {"requests": {"nvidia.com/gpu": "1", "cpu": "7"}, "limits": {"nvidia.com/gpu": "1"}}
        on(w, 0, "train", containers=[{"name": "c", "resources": wants}])
        w.loop()
        found = w.ca.planner.utilizations[names(w)[0]]
        assert (found.resource, found.value) == ("nvidia.com/gpu", 0.5)

    def test_a_node_that_says_nothing_of_its_resources_stays(self) -> None:
        """Never a scale-down on missing data."""
        w = world(2)
        w.nodes[names(w)[0]]["status"]["allocatable"] = {"pods": "10"}
        w.loops(11 * MINUTE)
        assert w.reason(names(w)[0]) == "UnexpectedError"
        assert names(w)[0] not in w.deleted


class TestTaintsAndStatus:
    def test_unneeded_nodes_are_marked_softly_and_unmarked_when_needed(self) -> None:
        w = world(2)
        on(w, 0, "busy", "1500m")
        name = names(w)[1]
        w.loop()
        assert w.taints == {name: True}
        on(w, 1, "guest", "1500m")
        w.loop()
        assert w.taints == {name: False}

    def test_ten_nodes_a_loop_are_marked(self) -> None:
        w = world(25, max_size=30)
        w.loop()
        assert len(w.taints) == 10

    def test_the_status_says_how_the_groups_are(self) -> None:
        import yaml

        from k8slab.autoscaling.cluster_autoscaler import WriteStatus

        w = world(2)
        on(w, 0, "busy", "1500m")
        result = w.loop()
        (text,) = [effect.text for effect in result.effects if isinstance(effect, WriteStatus)]
        status = yaml.safe_load(text)
        assert list(status) == ["time", "autoscalerStatus", "clusterWide", "nodeGroups"]
        assert status["time"] == "2026-01-01 01:40:10 +0000 UTC"
        assert status["autoscalerStatus"] == "Running"
        (group,) = status["nodeGroups"]
        assert group["name"] == "pool"
        assert group["health"]["status"] == "Healthy"
        assert group["health"]["cloudProviderTarget"] == 2
        assert group["health"]["nodeCounts"]["registered"] == {
            "total": 2, "ready": 2, "notStarted": 0, "suspended": 0, "unready": {"total": 0, "resourceUnready": 0},
        }  # fmt: skip
        assert group["scaleUp"]["status"] == "NoActivity"
        assert (group["scaleDown"]["status"], group["scaleDown"]["candidates"]) == ("CandidatesPresent", 1)
        since = group["scaleDown"]["lastTransitionTime"]
        later = yaml.safe_load(next(e.text for e in w.loop().effects if isinstance(e, WriteStatus)))
        assert later["nodeGroups"][0]["scaleDown"]["lastTransitionTime"] == since
        assert later["nodeGroups"][0]["scaleDown"]["lastProbeTime"] != since
