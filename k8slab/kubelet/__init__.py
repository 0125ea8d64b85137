"""The kubelet of one node, and the containers it drives.

`ContainerRuntime` is the machine: Pods' sandboxes and containers as state machines moved by the clock. `Kubelet`
is the agent: it registers the node, renews its Lease, runs the Pods bound to it and writes their status. A crash
of the agent (`component.kill()`) leaves the containers running.

>>> from k8slab.kubelet import ContainerRuntime, NodeConfig
>>> pod = {"metadata": {"name": "web", "namespace": "default", "uid": "u1"},
...        "spec": {"containers": [{"name": "c", "image": "nginx:1.27"}]}}
>>> sandbox = ContainerRuntime(NodeConfig("node-1")).run_pod(pod, now_ms=0)
>>> [happened.reason for now in (0, 150, 650, 700) for happened in sandbox.advance(now)]
['Pulling', 'Pulled', 'Created', 'Started']

The caller's duties: call `advance` when `next_due_ms` says so, and write what changed.

Simplified: no process runs; how a container behaves comes from timings and from annotations of its Pod
(`k8slab.dev/run-ms`, `exit-code`, `ready-after-ms`, `stop-ms`, `pull-error`; for one container by its name:
`k8slab.dev/proxy.run-ms`; see `Behaviour`).
"""

from k8slab.kubelet import kinds as _kinds  # noqa: F401  (adds this package's rows to KINDS)
from k8slab.kubelet.backoff import RestartBackoff
from k8slab.kubelet.config import Behaviour, NodeConfig, Timings, annotated_behaviour
from k8slab.kubelet.kubelet import Kubelet
from k8slab.kubelet.pod_network import PodNetwork
from k8slab.kubelet.pod_status import pod_phase
from k8slab.kubelet.runtime import Container, ContainerRuntime, ContainerState, Happened, PodSandbox
from k8slab.kubelet.status_writer import pod_status

__all__ = [
    "Behaviour",
    "Container",
    "ContainerRuntime",
    "ContainerState",
    "Happened",
    "Kubelet",
    "NodeConfig",
    "PodNetwork",
    "PodSandbox",
    "RestartBackoff",
    "Timings",
    "annotated_behaviour",
    "pod_phase",
    "pod_status",
]
