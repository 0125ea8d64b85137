"""What a node says about its GPUs: the resource the device plugin advertises, and the labels of feature discovery.

>>> from k8slab.autoscaling.gpu import TimeSlicing, gpu_labels
>>> gpu_labels("NVIDIA A10G", 1, 24_576)["nvidia.com/gpu.product"]
'NVIDIA-A10G'
>>> shared = TimeSlicing(replicas=4)
>>> shared.advertised(2), gpu_labels("NVIDIA A10G", 2, 24_576, shared)["nvidia.com/gpu.product"]
({'nvidia.com/gpu': 8}, 'NVIDIA-A10G-SHARED')

Upstream: NVIDIA/k8s-device-plugin README (Shared Access to GPUs), docs/gpu-feature-discovery (the catalogue of labels)
Simplified: one kind of GPU on a node; of the labels those that workloads select by.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["GPU", "TimeSlicing", "gpu_labels"]

GPU = "nvidia.com/gpu"


@dataclass(frozen=True, slots=True)
class TimeSlicing:
    """Each GPU is advertised `replicas` times: no memory, no time is set apart, whoever shares it shares all.

    `rename`: as nvidia.com/gpu.shared. `fail_requests_greater_than_one`: two of them are no more than one, so nobody
    gets two.
    """

    replicas: int = 1
    rename: bool = False
    fail_requests_greater_than_one: bool = False

    def __post_init__(self) -> None:
        if self.replicas < 1:
            raise ValueError(f"replicas: {self.replicas}: expected 1 or more")

    @property
    def resource(self) -> str:
        return f"{GPU}.shared" if self.rename and self.replicas > 1 else GPU

    def advertised(self, gpus: int) -> dict[str, int]:
        """What the node's allocatable has."""
        return {self.resource: gpus * self.replicas}

    def admit(self, asked: int) -> str:
        """Why the plugin refuses a container that asks for so many, "" when it does not (UnexpectedAdmissionError)."""
        if self.replicas > 1 and self.fail_requests_greater_than_one and asked > 1:
            return f"request for '{self.resource}: {asked}' too large: maximum request size for shared resources is 1"
        return ""


def gpu_labels(product: str, count: int, memory_mib: int, sharing: TimeSlicing | None = None) -> dict[str, str]:
    """The labels of a node with so many GPUs of a product, as the driver names it: spaces become dashes."""
    replicas = sharing.replicas if sharing is not None else 1
    renamed = sharing is not None and sharing.rename
    name = "-".join(product.split())
    return {
        "nvidia.com/gpu.count": str(count),
        "nvidia.com/gpu.memory": str(memory_mib),
        "nvidia.com/gpu.product": f"{name}-SHARED" if replicas > 1 and not renamed else name,
        "nvidia.com/gpu.replicas": str(replicas),
        "nvidia.com/gpu.sharing-strategy": "time-slicing" if replicas > 1 else "none",
        "nvidia.com/gpu.present": "true",
    }
