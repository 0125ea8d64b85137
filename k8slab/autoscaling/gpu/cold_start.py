"""From "there is no node" to the first answer: the stages of a GPU cold start, and what each of them waits for.

>>> from k8slab.autoscaling.gpu import ColdStart
>>> start = ColdStart(image_gib=12, model_gib=26)
>>> start.total_ms // 1_000, start.slowest.name
(320, 'image')
>>> ColdStart(image_gib=12, model_gib=26, image_on_disk=True).total_ms // 1_000
161

Upstream: none; the stages are those that nodes, device plugins and model servers go through one after the other
Simplified: bandwidths are constant, and layers are unpacked as they come.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from k8slab.autoscaling.cloud import CloudTimings

__all__ = ["ColdStart", "Stage"]

_MIB = 1_024


@dataclass(frozen=True, slots=True)
class Stage:
    """`ends_ms` counts from the decision to buy a node."""

    name: str
    starts_ms: int
    ends_ms: int
    what: str

    @property
    def lasts_ms(self) -> int:
        return self.ends_ms - self.starts_ms


@dataclass(frozen=True, slots=True)
class ColdStart:
    """What a cold start is made of. Sizes in GiB, speeds in MiB/s, times in ms.

    `driver_baked`: the image of the machine has the driver (else it is installed first). `image_on_disk`: the container
    image is on a prepared disk. `warm_node`: a node stands ready, only the Pod starts.
    """

    timings: CloudTimings = field(default_factory=CloudTimings)
    kubelet_ms: int = 5_000
    driver_ms: int = 90_000
    plugin_ms: int = 20_000
    image_gib: int = 8
    image_mib_per_s: int = 77
    model_gib: int = 16
    model_mib_per_s: int = 512
    warm_up_ms: int = 6_000
    driver_baked: bool = True
    image_on_disk: bool = False
    warm_node: bool = False

    def __post_init__(self) -> None:
        for name in ("image_mib_per_s", "model_mib_per_s"):
            if getattr(self, name) <= 0:
                raise ValueError(f"{name}: {getattr(self, name)}: expected more than 0")
        for name in ("image_gib", "model_gib", "kubelet_ms", "driver_ms", "plugin_ms", "warm_up_ms"):
            if getattr(self, name) < 0:
                raise ValueError(f"{name}: {getattr(self, name)}: expected 0 or more")

    @property
    def stages(self) -> tuple[Stage, ...]:
        """One after the other; those that take no time are left out."""
        node = not self.warm_node
        spans = (
            ("provision", node * self.timings.pending_ms, "the cloud has given the instance"),
            ("boot", node * (self.timings.boot_ms + self.timings.gpu_boot_ms), "the operating system is up"),
            ("driver", (node and not self.driver_baked) * self.driver_ms, "the driver is built and loaded"),
            ("kubelet", node * self.kubelet_ms, "the Node is Ready, with no GPU yet"),
            ("plugin", node * self.plugin_ms, "nvidia.com/gpu is allocatable, the Pod is bound"),
            (
                "image",
                (not self.image_on_disk) * self.image_gib * _MIB * 1_000 // self.image_mib_per_s,
                "the container image is there",
            ),
            ("load", self.model_gib * _MIB * 1_000 // self.model_mib_per_s, "the model is in GPU memory"),
            ("warm-up", self.warm_up_ms, "the first request is answered"),
        )
        found, now = [], 0
        for name, lasts_ms, what in spans:
            if lasts_ms:
                found.append(Stage(name, now, now + lasts_ms, what))
                now += lasts_ms
        return tuple(found)

    @property
    def total_ms(self) -> int:
        """From the decision to the first answer."""
        return self.stages[-1].ends_ms if self.stages else 0

    @property
    def slowest(self) -> Stage:
        """Where to begin. ValueError: there are no stages."""
        return max(self.stages, key=lambda stage: stage.lasts_ms)

    def before(self, name: str) -> int:
        """When a stage has ended; what is left out ends at once. ValueError for no stage at all."""
        names = ("provision", "boot", "driver", "kubelet", "plugin", "image", "load", "warm-up")
        if name not in names:
            raise ValueError(f"stage {name!r}: expected one of {', '.join(names)}")
        allowed = names[: names.index(name) + 1]
        return max((stage.ends_ms for stage in self.stages if stage.name in allowed), default=0)
