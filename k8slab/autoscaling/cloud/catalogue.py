"""A catalogue of some 700 instance types, shaped as a large cloud's is: families, generations, sizes, prices.

The same seed gives the same catalogue. Names, sizes and ratios follow the naming of EC2, so that manifests read as in
the wild; prices come from a formula (so much for a CPU, a GiB, a GPU), not from a price list.

Upstream: kubernetes-sigs/karpenter kwok/tools/gen_instance_types.go (the idea: generated families and sizes)
Simplified: prices are a formula's; a bare metal machine costs what its largest virtual one does.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from k8slab.autoscaling.cloud.instance_types import GIB, ON_DEMAND, SPOT, InstanceType, Offering

__all__ = ["ZONES", "catalogue", "small_catalogue"]

ZONES = ("region-1a", "region-1b", "region-1c")
"""The zones of the simulated region, `region-1`."""

_CPU_MICROS = 33_000
_GIB_MICROS = 3_750
_SIZES = {
    "medium": 1,
    "large": 2,
    "xlarge": 4,
    "2xlarge": 8,
    "4xlarge": 16,
    "8xlarge": 32,
    "12xlarge": 48,
    "16xlarge": 64,
    "24xlarge": 96,
    "32xlarge": 128,
    "48xlarge": 192,
}
_OLD = ("large", "xlarge", "2xlarge", "4xlarge", "8xlarge", "16xlarge")
_FIFTH = ("large", "xlarge", "2xlarge", "4xlarge", "8xlarge", "12xlarge", "16xlarge", "24xlarge", "metal")
_SIXTH = (*_FIFTH[:-1], "32xlarge", "metal")
_SEVENTH = (*_FIFTH[:-1], "48xlarge", "metal")
_ARM = ("medium", "large", "xlarge", "2xlarge", "4xlarge", "8xlarge", "12xlarge", "16xlarge", "metal")
_ARM_8 = (*_ARM[:-1], "24xlarge", "48xlarge", "metal")
_GENERAL: dict[int, dict[str, tuple[str, ...]]] = {  # of the categories c, m and r: generation -> {variant: sizes}
    4: {"": _OLD},
    5: {"": _FIFTH, "a": _FIFTH[:-1], "d": _FIFTH, "n": _FIFTH, "ad": _FIFTH[:-1]},
    6: {"i": _SIXTH, "a": _SIXTH, "id": _SIXTH, "in": _SIXTH, "g": _ARM, "gd": _ARM, "gn": _ARM[:-1]},
    7: {"i": _SEVENTH, "a": _SEVENTH, "g": _ARM, "gd": _ARM},
    8: {"g": _ARM_8, "gd": _ARM_8, "i": _SEVENTH, "a": _SEVENTH},
}
_GIB_PER_CPU = {"c": 2, "m": 4, "r": 8, "x": 16, "z": 8, "i": 8, "d": 8}
_SPECIAL = {  # family -> (generation, sizes, is it ARM)
    "i3": (3, _OLD, False),
    "i3en": (3, ("large", "xlarge", "2xlarge", "12xlarge", "24xlarge", "metal"), False),
    "i4i": (4, (*_OLD, "12xlarge", "24xlarge", "32xlarge", "metal"), False),
    "i4g": (4, _OLD, True),
    "i7ie": (7, ("large", "xlarge", "2xlarge", "12xlarge", "24xlarge", "48xlarge"), False),
    "d3": (3, ("xlarge", "2xlarge", "4xlarge", "8xlarge"), False),
    "z1d": (1, ("large", "xlarge", "2xlarge", "12xlarge", "metal"), False),
    "x1": (1, ("16xlarge", "32xlarge"), False),
    "x2gd": (2, _ARM, True),
    "x2idn": (2, ("16xlarge", "24xlarge", "32xlarge", "metal"), False),
    "x8g": (8, _ARM_8, True),
}
_BURSTABLE = {"nano": (2, 1), "micro": (2, 2), "small": (2, 4), "medium": (2, 8), "large": (2, 16), "xlarge": (4, 32),
              "2xlarge": (8, 64)}  # (CPUs, memory in half GiB)  # fmt: skip


class _Gpu(NamedTuple):
    family: str
    product: str
    memory_mib: int
    micros: int
    nvlink: bool
    sizes: dict[str, tuple[int, int, int]]  # size -> (GPUs, CPUs, memory in GiB)


_GPUS = (
    _Gpu("g4dn", "Tesla-T4", 16_384, 330_000, False,
         {"xlarge": (1, 4, 16), "2xlarge": (1, 8, 32), "4xlarge": (1, 16, 64), "8xlarge": (1, 32, 128),
          "12xlarge": (4, 48, 192), "16xlarge": (1, 64, 256), "metal": (8, 96, 384)}),
    _Gpu("g5", "NVIDIA-A10G", 24_576, 800_000, False,
         {"xlarge": (1, 4, 16), "2xlarge": (1, 8, 32), "4xlarge": (1, 16, 64), "8xlarge": (1, 32, 128),
          "12xlarge": (4, 48, 192), "16xlarge": (1, 64, 256), "24xlarge": (4, 96, 384), "48xlarge": (8, 192, 768)}),
    _Gpu("g6", "NVIDIA-L4", 24_576, 620_000, False,
         {"xlarge": (1, 4, 16), "2xlarge": (1, 8, 32), "4xlarge": (1, 16, 64), "8xlarge": (1, 32, 128),
          "12xlarge": (4, 48, 192), "16xlarge": (1, 64, 256), "24xlarge": (4, 96, 384), "48xlarge": (8, 192, 768)}),
    _Gpu("g6e", "NVIDIA-L40S", 49_152, 1_500_000, False,
         {"xlarge": (1, 4, 32), "2xlarge": (1, 8, 64), "4xlarge": (1, 16, 128), "8xlarge": (1, 32, 256),
          "12xlarge": (4, 48, 384), "16xlarge": (1, 64, 512), "24xlarge": (4, 96, 768), "48xlarge": (8, 192, 1_536)}),
    _Gpu("p3", "Tesla-V100-SXM2-16GB", 16_384, 2_700_000, True,
         {"2xlarge": (1, 8, 61), "8xlarge": (4, 32, 244), "16xlarge": (8, 64, 488)}),
    _Gpu("p4d", "NVIDIA-A100-SXM4-40GB", 40_960, 3_000_000, True, {"24xlarge": (8, 96, 1_152)}),
    _Gpu("p4de", "NVIDIA-A100-SXM4-80GB", 81_920, 4_000_000, True, {"24xlarge": (8, 96, 1_152)}),
    _Gpu("p5", "NVIDIA-H100-80GB-HBM3", 81_559, 6_000_000, True,
         {"4xlarge": (1, 16, 256), "48xlarge": (8, 192, 2_048)}),
    _Gpu("p5en", "NVIDIA-H200", 143_771, 7_000_000, True, {"48xlarge": (8, 192, 2_048)}),
    _Gpu("p6", "NVIDIA-B200", 183_359, 13_000_000, True, {"48xlarge": (8, 192, 2_048)}),
)  # fmt: skip


class _Row(NamedTuple):
    """A type before its offerings are known."""

    family: str
    size: str
    generation: int
    cpus: int
    half_gib: int
    is_arm: bool
    factor_percent: int
    gpu: _Gpu | None = None
    gpus: int = 0


def catalogue(seed: int | str = 0, zones: Sequence[str] = ZONES) -> tuple[InstanceType, ...]:
    """Some 700 types, by name. `seed` decides spot prices and which type is missing from which zone.

    >>> types = {one.name: one for one in catalogue()}
    >>> types["m5.large"].milli_cpu, types["m5.large"].cheapest().price_micros
    (2000, 96000)
    """
    if not zones:
        raise ValueError("zones: none, expected at least one")
    if isinstance(zones, str) or len(set(zones)) != len(zones):
        raise ValueError(f"zones: {zones!r}: expected names that differ")
    rows = [*_general_rows(), *_special_rows(), *_burstable_rows(), *_gpu_rows()]
    return tuple(sorted((_instance_type(row, seed, zones) for row in rows), key=lambda one: one.name))


def small_catalogue(seed: int | str = 0, zones: Sequence[str] = ZONES) -> tuple[InstanceType, ...]:
    """A dozen of them: what a chapter or a lab can show on one screen."""
    names = {
        *("m5.large", "m5.xlarge", "m5.2xlarge", "m5.4xlarge", "c5.xlarge", "c5.4xlarge", "r5.large", "r5.2xlarge"),
        *("m6g.large", "m6g.2xlarge", "g5.xlarge", "g5.12xlarge", "p4d.24xlarge"),
    }
    return tuple(one for one in catalogue(seed, zones) if one.name in names)


def _general_rows() -> Iterator[_Row]:
    for category in ("c", "m", "r"):
        for generation, variants in _GENERAL.items():
            for variant, sizes in variants.items():
                factor = _factor(variant, generation)
                yield from _sized(
                    f"{category}{generation}{variant}",
                    generation,
                    sizes,
                    _GIB_PER_CPU[category],
                    "g" in variant,
                    factor,
                )


def _factor(variant: str, generation: int) -> int:
    """The price against an Intel machine of the fifth generation without extras, in percent."""
    percent = {4: 104, 7: 105, 8: 106}.get(generation, 100)
    percent -= 20 if "g" in variant else 10 if "a" in variant else 0
    return percent + (18 if "d" in variant else 0) + (25 if "n" in variant else 0)


def _special_rows() -> Iterator[_Row]:
    for family, (generation, sizes, is_arm) in _SPECIAL.items():
        yield from _sized(family, generation, sizes, _GIB_PER_CPU[family[0]], is_arm, 110 if is_arm else 130)


def _sized(family: str, generation: int, sizes: Sequence[str], gib: int, is_arm: bool, factor: int) -> Iterator[_Row]:
    largest = max(_SIZES[size] for size in sizes if size != "metal")
    for size in sizes:
        cpus = largest if size == "metal" else _SIZES[size]
        yield _Row(family, size, generation, cpus, 2 * gib * cpus, is_arm, factor)


def _burstable_rows() -> Iterator[_Row]:
    for family, is_arm, factor in (("t2", False, 92), ("t3", False, 86), ("t3a", False, 78), ("t4g", True, 70)):
        for size, (cpus, half_gib) in _BURSTABLE.items():
            share = {"nano": 10, "micro": 18, "small": 32, "medium": 55}.get(size, 100)
            yield _Row(family, size, int(family[1]), cpus, half_gib, is_arm, factor * share // 100)


def _gpu_rows() -> Iterator[_Row]:
    for gpu in _GPUS:
        generation = int(gpu.family[1])
        for size, (gpus, cpus, gib) in gpu.sizes.items():
            yield _Row(gpu.family, size, generation, cpus, 2 * gib, False, 100, gpu, gpus)


def _instance_type(row: _Row, seed: int | str, zones: Sequence[str]) -> InstanceType:
    price = (row.cpus * _CPU_MICROS + row.half_gib * _GIB_MICROS // 2) * row.factor_percent // 100
    price += row.gpus * row.gpu.micros if row.gpu else 0
    variant = row.family.lstrip("abcdefghijklmnopqrstuvwxyz").lstrip("0123456789")
    has_disk = "d" in variant or row.family[0] in "id" or row.gpu is not None
    name = f"{row.family}.{row.size}"
    return InstanceType(
        name=name,
        architecture="arm64" if row.is_arm else "amd64",
        category=row.family[0],
        family=row.family,
        generation=row.generation,
        size=row.size,
        milli_cpu=row.cpus * 1_000,
        memory=row.half_gib * GIB // 2,
        pods=_most_pods(row.cpus, row.half_gib),
        offerings=_offerings(name, price, random.Random(f"{seed}/{name}"), zones),
        gpus=row.gpus,
        gpu_product=row.gpu.product if row.gpu else "",
        gpu_memory=row.gpu.memory_mib if row.gpu else 0,
        nvlink=bool(row.gpu and row.gpu.nvlink and row.gpus > 1),
        local_nvme=row.cpus * 37 * GIB if has_disk else 0,
        bandwidth_mbps=min(row.cpus * 780 * (2 if "n" in variant else 1), 200_000),
        is_bare_metal=row.size == "metal",
    )


def _most_pods(cpus: int, half_gib: int) -> int:
    """Network interfaces times the addresses of each, as the machine's size has them."""
    if half_gib <= 2:
        return 4
    steps = ((1, 8), (2, 29), (4, 58), (8, 58), (16, 234), (48, 234))
    return next((pods for most, pods in steps if cpus <= most), 737)


def _offerings(name: str, price: int, rng: random.Random, zones: Sequence[str]) -> tuple[Offering, ...]:
    """On demand the same price everywhere; spot 35 to 75 % less, by zone. One zone in twelve does not have the type."""
    sold = [zone for zone in zones if rng.random() >= 1 / 12] or [zones[0]]
    base = rng.randint(35, 65)
    found = []
    for zone in sold:
        found.append(Offering(zone, ON_DEMAND, price))
        found.append(Offering(zone, SPOT, price * (100 - base - rng.randint(0, 10)) // 100))
    return tuple(found)
