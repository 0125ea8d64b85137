"""What Karpenter says: events on Pods, Nodes and NodeClaims in upstream's words, and the trace with its causes.

Upstream: kubernetes-sigs/karpenter pkg/events, pkg/controllers/provisioning/scheduling/events.go,
pkg/controllers/disruption/events/events.go, pkg/controllers/node/termination/terminator/events/events.go,
pkg/controllers/nodeclaim/lifecycle/events.go; aws/karpenter-provider-aws pkg/controllers/interruption/events
Simplified: no rate limits. An event of the same reason about the same object is left out for a while, as upstream does.
"""

from __future__ import annotations

from k8slab.api.objects import Object
from k8slab.api.times import rfc3339
from k8slab.autoscaling.karpenter.effects import DeletePod, EvictPod, Nominate, Note
from k8slab.autoscaling.karpenter.node_claim import NodeClaim
from k8slab.autoscaling.karpenter.objects import NODE_CLAIM
from k8slab.autoscaling.karpenter.pods import DO_NOT_DISRUPT
from k8slab.autoscaling.karpenter.state import ClusterState
from k8slab.autoscaling.karpenter.termination import drain, termination_ends_ms
from k8slab.autoscaling.karpenter.watcher import Watcher
from k8slab.client import SharedInformer
from k8slab.controllers import ControllerContext
from k8slab.sim.kinds import cut

__all__ = ["Tidings"]

_QUIET = ("Unconsolidatable", "DisruptionBlocked", "FailedScheduling", "Ignored")
_MOST_WORDS = 160
_USUALLY_QUIET_MS = 120_000
_QUIET_MS = {"FailedScheduling": 300_000, "Unconsolidatable": 900_000}
_INTERRUPTED = {
    "SpotInterrupted": "Spot interruption warning was triggered",
    "InstanceTerminating": "Instance is terminating",
}


class Tidings:
    """Speaks for one process. `hear` takes the notes of its `Karpenter`."""

    def __init__(self, ctx: ControllerContext, state: ClusterState, watcher: Watcher, claims: SharedInformer) -> None:
        self._trace, self._lane = ctx.loop.trace, ctx.component.name
        self._recorder = ctx.recorder("karpenter")
        self._state, self._watcher, self._claims = state, watcher, claims
        self._loop = ctx.loop
        self._said: dict[tuple[str, ...], int] = {}

    # -- causes -------------------------------------------------------------------------------------

    def caused_by(self, *names: str) -> None:
        """What follows is because of the first of these (Pods, nodes, claims) of which something is known."""
        causes = (self._watcher.causes.get(name) for name in names)
        self._trace.current = next((cause for cause in causes if cause is not None), None)

    def hear(self, note: Note) -> None:
        """A decision: into the trace, and among the events of what it is about."""
        self.caused_by(*note.because, note.about)
        resource = "pods" if "/" in note.about else "nodes"
        if note.reason == "Created":
            claims = NODE_CLAIM_RESOURCE
            self._trace.emit("karpenter.claim", self._lane, resource=claims, key=note.about, why=note.message)
        else:
            known = self._state.nodes.get(note.about)
            if resource == "nodes" and (known is None or known.node is None):
                resource = NODE_CLAIM_RESOURCE
            kind = "karpenter.see" if note.reason in _QUIET else "karpenter.do"
            text = cut(note.message, _MOST_WORDS)
            self._trace.emit(kind, self._lane, resource=resource, key=note.about, reason=note.reason, why=text)
        if note.reason not in _QUIET:
            self._watcher.causes[note.about] = self._trace.current
        self._speak(note)

    # -- events -------------------------------------------------------------------------------------

    def say(self, about: Object | None, type: str, reason: str, message: str) -> None:
        """Record an event, unless there was one for this reason a short while ago."""
        if about is None:
            return
        metadata, now_ms = about["metadata"], self._loop.clock.now_ms
        key = (reason, about.get("kind", "Pod"), metadata.get("namespace", ""), metadata["name"])
        until_ms = self._said.get(key)
        if until_ms is None or now_ms >= until_ms:
            self._said[key] = now_ms + _QUIET_MS.get(reason, _USUALLY_QUIET_MS)
            self._recorder.event(about, type, reason, message)

    def _claim(self, name: str) -> Object | None:
        return self._claims.indexer.get(name)

    def _on_both(self, name: str, type: str, reason: str, of_node: str, of_claim: str) -> None:
        self.say(self._watcher.nodes.indexer.get(name), type, reason, of_node)
        self.say(self._claim(name), type, reason, of_claim)

    def _speak(self, note: Note) -> None:
        name, reason, message = note.about, note.reason, note.message
        if reason == "FailedScheduling":
            self.say(self._watcher.object_of(name), "Warning", reason, f"Failed to schedule pod, {message}")
        elif reason == "Unconsolidatable" or (reason == "DisruptionBlocked" and DO_NOT_DISRUPT not in message):
            text = message[:1].upper() + message[1:]
            self._on_both(name, "Normal", reason, text, text)
        elif reason == "InsufficientCapacityError":
            made = {"apiVersion": NODE_CLAIM.api_version, "kind": NODE_CLAIM.kind, "metadata": {"name": name}}
            self.say(self._claim(name) or made, "Warning", reason, f"NodeClaim {name} event: {message}")
        elif reason in _INTERRUPTED:
            text = _INTERRUPTED[reason]
            self._on_both(name, "Warning", reason, text, text)
            node = self._state.nodes.get(name)
            for key in node.pods if node is not None and reason == "SpotInterrupted" else ():
                self.say(self._watcher.object_of(key), "Warning", reason, text)
            ends = "Interruption triggered termination for the"
            self._on_both(name, "Warning", "TerminatingOnInterruption", f"{ends} Node", f"{ends} NodeClaim")
        elif reason.startswith("Disrupted/"):
            why = reason.partition("/")[2]
            self._on_both(
                name, "Normal", "DisruptionTerminating", f"Disrupting Node: {why}", f"Disrupting NodeClaim: {why}"
            )

    def created(self, claim: NodeClaim, reason: str) -> None:
        """The claim is stored; `reason`: of the disruption for which it is a replacement."""
        if reason:
            about = {"apiVersion": NODE_CLAIM.api_version, "kind": NODE_CLAIM.kind, "metadata": {"name": claim.name}}
            found = self._claim(claim.name) or about
            self.say(found, "Normal", "DisruptionLaunching", f"Launching NodeClaim: {reason}")
            text = "Waiting on readiness to continue disruption"
            self.say(found, "Normal", "DisruptionWaitingReadiness", text)

    def nominate(self, effect: Nominate) -> None:
        """A Pod is expected somewhere."""
        pod = self._watcher.object_of(effect.key)
        node = self._state.nodes.get(effect.name)
        if pod is None or node is None:
            return
        parts = [f"nodeclaim/{effect.name}"] if node.claim is not None else []
        parts += [f"node/{effect.name}"] if node.node is not None else []
        text = f"Pod should schedule on: {', '.join(parts)}"
        self.caused_by(effect.name, effect.key)
        self.say(pod, "Normal", "Nominated", text)

    # -- draining -----------------------------------------------------------------------------------

    def drains(self, effect: EvictPod) -> None:
        """An eviction is asked for."""
        self._trace.emit("karpenter.drain", self._lane, resource="pods", key=effect.key, node=effect.node)

    def deletes(self, effect: DeletePod, pod: Object) -> None:
        """A Pod is deleted whatever its budget says, since its node's time is up."""
        self._trace.emit("karpenter.drain", self._lane, resource="pods", key=effect.key, node=effect.node)
        node = self._state.nodes.get(effect.node)
        ends = None if node is None else termination_ends_ms(node)
        own = pod["spec"].get("terminationGracePeriodSeconds")
        text = (
            f"Deleting the pod to accommodate the terminationTime {rfc3339(ends or 0)} of the node. The pod was "
            f"granted {effect.grace_period_seconds} seconds of grace-period of its {own} "
            "terminationGracePeriodSeconds. This bypasses the PDB of the pod and the do-not-disrupt annotation."
        )
        self.say(pod, "Normal", "Disrupted", text)

    def tell_drains(self, now_ms: int) -> None:
        """What keeps nodes that go."""
        for node in self._state.nodes.values():
            if node.claim is None or node.claim.deleted_ms is None or node.node is None:
                continue
            message = drain((info.pod for info in node.pods.values()), now_ms, termination_ends_ms(node)).message
            if message:
                self.caused_by(node.name)
                text = f"Failed to drain node, {message}"
                self.say(self._watcher.nodes.indexer.get(node.name), "Warning", "FailedDraining", text)


NODE_CLAIM_RESOURCE = "nodeclaims.karpenter.sh"
