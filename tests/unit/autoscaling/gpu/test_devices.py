"""MIG slots, links between GPUs, time slicing and labels, claims (DRA), extended resources."""

from __future__ import annotations

from itertools import combinations, permutations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from k8slab.api.validation.resources import validate_container_resources
from k8slab.autoscaling.gpu import (
    LINKS,
    MIG_PROFILES,
    Allocation,
    AllocationError,
    Allocator,
    DeviceSelector,
    MigGpu,
    SelectorError,
    TimeSlicing,
    bandwidth,
    best_gpus,
    gpu_labels,
    mig_resource_names,
    pairwise,
    slowest,
)
from k8slab.scheduler import Framework, Snapshot
from tests.scheduling import node, pod

# -- MIG: NVIDIA MIG User Guide, Supported MIG Profiles -------------------------------------------------------


@pytest.mark.parametrize(
    ("model", "profile", "most"),
    [
        pytest.param("A100-40GB", "1g.5gb", 7, id="seven of 1g.5gb"),
        pytest.param("A100-40GB", "1g.10gb", 4, id="four of 1g.10gb"),
        pytest.param("A100-40GB", "2g.10gb", 3, id="three of 2g.10gb"),
        pytest.param("A100-40GB", "3g.20gb", 2, id="two of 3g.20gb"),
        pytest.param("A100-40GB", "4g.20gb", 1, id="one of 4g.20gb"),
        pytest.param("H100-80GB", "7g.80gb", 1, id="one of 7g.80gb"),
        pytest.param("A30-24GB", "1g.6gb", 4, id="four of 1g.6gb on an A30"),
        pytest.param("A30-24GB", "2g.12gb", 2, id="two of 2g.12gb"),
    ],
)
def test_so_many_instances_are_available(model: str, profile: str, most: int) -> None:
    """The column Number of Instances Available."""
    gpu = MigGpu(model)
    count = 0
    while gpu.starts(profile):
        gpu.create(profile)
        count += 1
    assert count == most


@pytest.mark.parametrize(
    ("made", "profile", "reason"),
    [
        pytest.param([("1g.5gb", 1)], "2g.10gb", "", id="another place is left"),
        pytest.param([("1g.5gb", 1), ("1g.5gb", 3), ("1g.5gb", 5)], "2g.10gb",
                     "2g.10gb takes 2 slices from 0, 2 or 4, and each of these is taken in part",
                     id="five slices are free, and none of the places"),
        pytest.param([("3g.20gb", 0)], "4g.20gb", "4g.20gb takes 4 slices from 0, and each of these is taken in part",
                     id="4g sits at 0 only"),
        pytest.param([("3g.20gb", 0), ("3g.20gb", 4)], "1g.5gb",
                     "1g.5gb takes 1 memory slices, and 0 are free",
                     id="two 3g take all the memory, one compute is left"),
        pytest.param([("4g.20gb", 0), ("3g.20gb", 4)], "1g.5gb",
                     "1g.5gb takes 1 compute slices, and 0 are free", id="no compute is left"),
    ],
)  # fmt: skip
def test_room_is_not_enough(made: list[tuple[str, int]], profile: str, reason: str) -> None:
    gpu = MigGpu("A100-40GB")
    for name, start in made:
        assert gpu.create(name, start) == start
    assert gpu.why_not(profile) == reason


def test_instances_are_put_where_they_take_the_least_from_others() -> None:
    gpu = MigGpu("A100-40GB")
    assert [gpu.create("1g.5gb") for _ in range(3)] == [6, 4, 5]
    assert gpu.starts("4g.20gb") == [0]


@given(st.lists(st.tuples(st.sampled_from(sorted(MIG_PROFILES["A100-40GB"])), st.booleans()), max_size=25))
def test_no_slice_belongs_to_two_instances(steps: list[tuple[str, bool]]) -> None:
    gpu = MigGpu("A100-40GB")
    for profile, destroys in steps:
        if destroys and gpu.instances:
            gpu.destroy(next(iter(gpu.instances)))
        elif gpu.starts(profile):
            gpu.create(profile)
        else:
            with pytest.raises(ValueError, match="no place for"):
                gpu.create(profile)
        gpu.check_invariants()
        free = set(range(8)) - gpu.taken
        for name, row in gpu.profiles.items():  # the twin: every place, slot by slot
            naive = [s for s in row.starts if set(range(s, s + row.slices)) <= free and row.compute <= gpu.free_compute]
            assert gpu.starts(name) == naive


def test_bad_questions_about_mig() -> None:
    with pytest.raises(ValueError, match="model 'T4': expected one of A30-24GB"):
        MigGpu("T4")
    with pytest.raises(ValueError, match=r"profile '5g.25gb': A100-40GB has 1g.5gb"):
        MigGpu("A100-40GB").create("5g.25gb")
    with pytest.raises(ValueError, match=r"no place for 3g.20gb at 2"):
        MigGpu("A100-40GB").create("3g.20gb", 2)


def test_what_the_device_plugin_calls_instances() -> None:
    assert mig_resource_names("single", ["1g.5gb"] * 7) == {"nvidia.com/gpu": 7}
    with pytest.raises(ValueError, match="expected all of them to be the same"):
        mig_resource_names("single", ["1g.5gb", "2g.10gb"])
    with pytest.raises(ValueError, match="strategy 'none': expected single or mixed"):
        mig_resource_names("none", [])


# -- links ----------------------------------------------------------------------------------------------------


@given(st.sampled_from(sorted(LINKS)), st.sets(st.integers(0, 7)), st.integers(1, 5))
def test_no_other_set_has_more_bandwidth(name: str, free: set[int], count: int) -> None:
    found = best_gpus(LINKS[name], free, count)
    sets = list(combinations(sorted(free), count))
    assert (found is None) is (not sets)
    if found is not None:
        assert bandwidth(LINKS[name], found) == max(bandwidth(LINKS[name], one) for one in sets)


def test_bridged_pairs_stay_together() -> None:
    bridges = LINKS["nvlink-bridges-8"]
    assert best_gpus(bridges, range(8), 2) == (0, 1)
    assert best_gpus(bridges, [1, 2, 3, 4], 1) == (1,)  # who is alone anyway, so that 2 and 3 stay a pair
    assert slowest(bridges, (1, 2)) < slowest(bridges, (2, 3))


def test_the_cube_has_four_that_are_all_joined() -> None:
    cube = LINKS["dgx-1"]
    assert slowest(cube, (0, 1, 2, 3)) == 25
    assert slowest(cube, (0, 1, 4, 6)) == 16
    assert [sum(speed > 16 for speed in row) for row in cube] == [4] * 8


def test_bad_links() -> None:
    with pytest.raises(ValueError, match=r"pair \(0, 9\)"):
        pairwise(2, {(0, 9): 1})
    with pytest.raises(ValueError, match=r"free: \[9\]: expected places from 0 to 7"):
        best_gpus(LINKS["pcie-8"], [9], 1)
    with pytest.raises(ValueError, match="count: -1"):
        best_gpus(LINKS["pcie-8"], [1], -1)


# -- time slicing and labels: k8s-device-plugin README, gpu-feature-discovery -----------------------------------


def test_time_slicing_advertises_more_gpus_than_there_are() -> None:
    assert TimeSlicing(4).advertised(2) == {"nvidia.com/gpu": 8}
    assert TimeSlicing(4, rename=True).advertised(2) == {"nvidia.com/gpu.shared": 8}
    strict = TimeSlicing(4, fail_requests_greater_than_one=True)
    assert (strict.admit(1), TimeSlicing(4).admit(2)) == ("", "")
    assert strict.admit(2) == (
        "request for 'nvidia.com/gpu: 2' too large: maximum request size for shared resources is 1"
    )
    with pytest.raises(ValueError, match="replicas: 0: expected 1 or more"):
        TimeSlicing(0)


@pytest.mark.parametrize(
    ("product", "sharing", "label"),
    [
        pytest.param("NVIDIA A10G", None, "NVIDIA-A10G", id="E118: it is not A10G"),
        pytest.param("Tesla T4", None, "Tesla-T4", id="some have another maker's name in front"),
        pytest.param("NVIDIA A100-SXM4-40GB", None, "NVIDIA-A100-SXM4-40GB", id="form and memory belong to it"),
        pytest.param("NVIDIA A10G", TimeSlicing(2), "NVIDIA-A10G-SHARED", id="shared ones say so"),
        pytest.param("NVIDIA A10G", TimeSlicing(2, rename=True), "NVIDIA-A10G", id="unless the resource does"),
    ],
)
def test_the_product_label(product: str, sharing: TimeSlicing | None, label: str) -> None:
    assert gpu_labels(product, 1, 24_576, sharing)["nvidia.com/gpu.product"] == label


def test_erratum_118_a_selector_for_a10g_matches_no_node() -> None:
    nodes = [node("g5", labels=gpu_labels("NVIDIA A10G", 1, 24_576), nvidia_com__gpu="1")]
    framework = Framework.from_profile()
    wrong = pod("a", nodeSelector={"nvidia.com/gpu.product": "A10G"})
    right = pod("a", nodeSelector={"nvidia.com/gpu.product": "NVIDIA-A10G"})
    assert framework.schedule(wrong, Snapshot.of(nodes)).node == ""
    assert framework.schedule(right, Snapshot.of(nodes)).node == "g5"


# -- claims: k8s.io/dynamic-resource-allocation/structured, resource.k8s.io/v1 -------------------------------------

DRIVER = "gpu.example.com"


def device(name: str, model: str = "A", memory: str = "40Gi") -> dict[str, Any]:
    rows: dict[str, Any] = {"model": {"string": model}, "index": {"int": int(name[-1])}}
    return {"name": name, "attributes": rows, "capacity": {"memory": {"value": memory}}}


def resource_slice(*devices: Any, pool: str = "n1", **spec: Any) -> dict[str, Any]:
    of_pool = {"name": pool, "generation": spec.pop("generation", 1), "resourceSliceCount": spec.pop("count", 1)}
    return {
        "metadata": {"name": f"slice-{pool}"},
        "spec": {"driver": DRIVER, "nodeName": pool, "pool": of_pool, "devices": list(devices), **spec},
    }


def cel(expression: str) -> list[Any]:
    return [{"cel": {"expression": expression}}]


CLASSES: list[dict[str, Any]] = [
    {"metadata": {"name": "gpu"}, "spec": {"selectors": cel(f'device.driver == "{DRIVER}"')}},
    {"metadata": {"name": "any"}, "spec": {}},
]


def claim(*requests: Any, constraints: Any = ()) -> dict[str, Any]:
    return {
        "metadata": {"name": "c"},
        "spec": {"devices": {"requests": list(requests), "constraints": list(constraints)}},
    }


def exactly(name: str = "r", of: str = "gpu", **more: Any) -> dict[str, Any]:
    return {"name": name, "exactly": {"deviceClassName": of, **more}}


def on(name: str = "n1", **labels: str) -> dict[str, Any]:
    return {"metadata": {"name": name, "labels": labels}}


def names(found: list[Allocation]) -> list[str]:
    return [one.device for one in found]


FOUR = resource_slice(device("gpu-0"), device("gpu-1", "B"), device("gpu-2", "B", "80Gi"), device("gpu-3"))


@pytest.mark.parametrize(
    ("request_", "devices"),
    [
        pytest.param(exactly(), ["gpu-0"], id="one, if nothing is said"),
        pytest.param(exactly(count=3), ["gpu-0", "gpu-1", "gpu-2"], id="a count, in the order of the slice"),
        pytest.param(exactly(allocationMode="All"), ["gpu-0", "gpu-1", "gpu-2", "gpu-3"], id="all of them"),
        pytest.param(exactly(selectors=cel(f'device.attributes["{DRIVER}"].model == "B"'), count=2), ["gpu-1", "gpu-2"],
                     id="by an attribute"),
        pytest.param(exactly(selectors=cel(f'device.capacity["{DRIVER}"].memory.compareTo(quantity("64Gi")) >= 0')),
                     ["gpu-2"], id="by a capacity"),
        pytest.param({"name": "r", "firstAvailable": [
            {"name": "huge", "deviceClassName": "gpu",
             "selectors": cel(f'device.capacity["{DRIVER}"].memory.isGreaterThan(quantity("1Ti"))')},
            {"name": "pair", "deviceClassName": "gpu", "count": 2}]}, ["gpu-0", "gpu-1"],
            id="the first alternative that can be had"),
    ],
)  # fmt: skip
def test_what_a_claim_gets(request_: Any, devices: list[str]) -> None:
    allocator = Allocator([FOUR], CLASSES)
    assert names(allocator.allocate(claim(request_), on())) == devices


def test_what_is_taken_is_taken_until_it_is_released() -> None:
    allocator = Allocator([FOUR], CLASSES)
    first = allocator.allocate(claim(exactly(count=3)), on())
    with pytest.raises(AllocationError, match="claim c: cannot allocate all requested devices on node n1"):
        allocator.allocate(claim(exactly(count=2)), on())
    with pytest.raises(AllocationError):
        allocator.allocate(claim(exactly(allocationMode="All")), on())  # all means all, and some are taken
    assert names(allocator.allocate(claim(exactly(count=4, adminAccess=True)), on())) == [f"gpu-{n}" for n in range(4)]
    allocator.release(first)
    assert names(allocator.allocate(claim(exactly(count=2)), on())) == ["gpu-0", "gpu-1"]


def test_requests_that_go_together_are_found_by_going_back() -> None:
    """The first A would do for the first request; only B has two of a kind."""
    same = [{"matchAttribute": f"{DRIVER}/model", "requests": ["x", "y"]}]
    wanted = claim(
        exactly("x"), exactly("y", selectors=cel(f'device.attributes["{DRIVER}"].index < 3')), constraints=same
    )
    allocator = Allocator([resource_slice(device("gpu-0"), device("gpu-1", "B"), device("gpu-2", "B"))], CLASSES)
    assert names(allocator.allocate(wanted, on())) == ["gpu-1", "gpu-2"]


def test_a_device_without_the_attribute_cannot_match_it() -> None:
    same = [{"matchAttribute": "pci.example.com/root"}]
    rooted = device("gpu-1")
    rooted["attributes"]["pci.example.com/root"] = {"string": "r0"}
    allocator = Allocator([resource_slice(device("gpu-0"), rooted)], CLASSES)
    assert names(allocator.allocate(claim(exactly(), constraints=same), on())) == ["gpu-1"]


@pytest.mark.parametrize(
    ("slices", "devices"),
    [
        pytest.param([resource_slice(device("gpu-0"), pool="n2")], [], id="another node's"),
        pytest.param([resource_slice(device("gpu-0"), count=2)], [], id="a pool of which slices are missing"),
        pytest.param([resource_slice(device("gpu-0")), resource_slice(device("gpu-1"), generation=2)], ["gpu-1"],
                     id="the newer generation"),
        pytest.param([resource_slice(device("gpu-0"), pool="p", nodeName=None, allNodes=True)], ["gpu-0"],
                     id="for all nodes"),
        pytest.param([resource_slice(device("gpu-0"), pool="p", nodeName=None, nodeSelector={"nodeSelectorTerms": [
            {"matchExpressions": [{"key": "rack", "operator": "In", "values": ["r1"]}]}]})], ["gpu-0"],
            id="for nodes with a label"),
    ],
)  # fmt: skip
def test_which_devices_a_node_has(slices: list[Any], devices: list[str]) -> None:
    assert [one.name for one in Allocator(slices, CLASSES).devices(on(rack="r1"))] == devices


@pytest.mark.parametrize(
    ("request_", "error", "message"),
    [
        pytest.param(exactly(of="tpu"), AllocationError, "could not retrieve device class tpu", id="an unknown class"),
        pytest.param(exactly(count=0), ValueError, "count 0: expected a number from 1 on", id="none"),
        pytest.param(exactly(allocationMode="Some"), ValueError, "allocationMode 'Some'", id="an unknown mode"),
        pytest.param({"name": "r"}, ValueError, "expected exactly or firstAvailable", id="nothing asked"),
        pytest.param(exactly(selectors=cel('device.attributes["x.io"].y == 1')), AllocationError,
                     "runtime error: no such key: x.io", id="a key that is not there is an error, not a no"),
        pytest.param(exactly(selectors=cel("device.driver =")), ValueError, "' =' at 13 is not understood",
                     id="no CEL"),
        pytest.param(exactly(selectors=cel("device.driver.upper(1)")), ValueError, "method 'upper'",
                     id="no such method"),
        pytest.param(exactly(selectors=cel("device.driver ==")), ValueError, "it ends too early", id="half a sentence"),
        pytest.param(exactly(selectors=cel("device.driver")), AllocationError, "expected true or false",
                     id="no answer"),
    ],
)  # fmt: skip
def test_claims_that_cannot_be_answered(request_: Any, error: type[Exception], message: str) -> None:
    allocator = Allocator([FOUR], CLASSES)
    with pytest.raises(error) as refused:
        allocator.allocate(claim(request_), on())
    assert message in str(refused.value)
    assert allocator.taken == {}


def test_one_device_is_in_a_claim_once_even_for_looking() -> None:
    """allocator_stable.go, "Device in use in same claim"; another claim's devices may be looked at."""
    allocator = Allocator([FOUR], CLASSES)
    both = claim(exactly("a"), exactly("b", adminAccess=True))
    assert names(allocator.allocate(both, on())) == ["gpu-0", "gpu-1"]
    assert names(allocator.allocate(claim(exactly(adminAccess=True)), on())) == ["gpu-0"]
    with pytest.raises(AllocationError):
        Allocator([FOUR], CLASSES).allocate(claim(exactly("a"), exactly("b", count=4, adminAccess=True)), on())


@pytest.mark.parametrize(
    ("slices", "message"),
    [
        pytest.param([resource_slice(device("gpu-0"), count=2)],
                     "resource pool gpu.example.com/n1 is currently being updated", id="slices are missing"),
        pytest.param([resource_slice(device("gpu-0"), count=2), resource_slice(device("gpu-0"), count=2)],
                     "resource pool gpu.example.com/n1 is currently invalid", id="a device is there twice"),
    ],
)  # fmt: skip
def test_all_of_a_pool_that_is_not_whole_is_refused_and_some_are_not_had(slices: list[Any], message: str) -> None:
    with pytest.raises(AllocationError) as refused:
        Allocator(slices, CLASSES).allocate(claim(exactly(allocationMode="All")), on())
    assert str(refused.value) == f"claim c, request r: asks for all devices, but {message}"
    assert list(Allocator(slices, CLASSES).devices(on())) == []


def test_all_devices_and_a_constraint_that_forbids_them() -> None:
    unlike = claim(exactly(allocationMode="All"), constraints=[{"matchAttribute": f"{DRIVER}/model"}])
    with pytest.raises(AllocationError, match=f"cannot add device {DRIVER}/n1/gpu-1 because a claim constraint"):
        Allocator([FOUR], CLASSES).allocate(unlike, on())


def many(count: int) -> dict[str, Any]:
    return resource_slice(*({"name": f"d{n}"} for n in range(count)))


@pytest.mark.parametrize(
    ("requests", "message"),
    [
        pytest.param([exactly(count=33)], "claim c: number of requested devices 33 exceeds the claim limit of 32",
                     id="33 in one request"),
        pytest.param([exactly("a", count=20), exactly("b", count=20)], "number of requested devices 40 exceeds",
                     id="40 in two"),
        pytest.param([exactly("a", count=16), exactly("b", count=16)], "cannot allocate all requested devices",
                     id="32 of 31 that are all alike: found at once, though there are 300 million ways to begin"),
        pytest.param([exactly("a", count=16), exactly("b", selectors=cel('device.driver == "x"'))],
                     "cannot allocate all requested devices", id="a request that nothing satisfies"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_not_searched_for_ever(requests: list[Any], message: str) -> None:
    with pytest.raises(AllocationError) as refused:
        Allocator([many(31)], CLASSES).allocate(claim(*requests), on())
    assert message in str(refused.value)


@given(
    st.lists(st.tuples(st.sampled_from("AB"), st.booleans()), max_size=5),
    st.lists(st.tuples(st.integers(1, 3), st.sampled_from(["", "A", "B"])), min_size=1, max_size=3),
    st.booleans(),
)
def test_a_naive_twin_finds_the_same_devices(
    kinds: list[tuple[str, bool]], asked: list[tuple[int, str]], is_constrained: bool
) -> None:
    """The twin tries every order of devices, as upstream's search does."""
    devices = [device(f"gpu-{n}", model) for n, (model, _) in enumerate(kinds)]
    taken = [n for n, (_, is_taken) in enumerate(kinds) if is_taken]
    rows = [
        exactly(
            f"r{n}",
            count=count,
            selectors=cel(f'device.attributes["{DRIVER}"].model == "{model}"') if model else [],
        )
        for n, (count, model) in enumerate(asked)
    ]
    flat = [model for count, model in asked for _ in range(count)]
    free = [n for n in range(len(kinds)) if n not in taken]

    def fits(order: tuple[int, ...]) -> bool:
        models = [kinds[n][0] for n in order]
        is_alike = not is_constrained or len(set(models)) <= 1
        return is_alike and all(wanted in ("", model) for wanted, model in zip(flat, models, strict=True))

    expected = next(filter(fits, permutations(free, len(flat))), None)
    allocator = Allocator([resource_slice(*devices)], CLASSES, [(DRIVER, "n1", f"gpu-{n}") for n in taken])
    wanted = claim(*rows, constraints=[{"matchAttribute": f"{DRIVER}/model"}] if is_constrained else [])
    if expected is None:
        with pytest.raises(AllocationError):
            allocator.allocate(wanted, on())
    else:
        assert names(allocator.allocate(wanted, on())) == [f"gpu-{n}" for n in expected]


def test_values_of_different_kinds_never_match() -> None:
    """matchAttributeConstraint: 1 is not true, and a version is no string."""
    kinds: list[dict[str, Any]] = [{"int": 1}, {"bool": True}, {"string": "1.0.0"}, {"version": "1.0.0"}]
    devices = [{"name": f"d{n}", "attributes": {"v": kind}} for n, kind in enumerate(kinds)]
    pair = claim(exactly(count=2), constraints=[{"matchAttribute": f"{DRIVER}/v"}])
    with pytest.raises(AllocationError, match="cannot allocate"):
        Allocator([resource_slice(*devices)], CLASSES).allocate(pair, on())


@pytest.mark.parametrize(
    ("requests", "constraints", "message"),
    [
        ([exactly("a"), exactly("a")], [], 'spec.devices.requests[1].name: Duplicate value: "a"'),
        ([{"exactly": {"deviceClassName": "gpu"}}], [], "claim c: request.name: Required value"),
        ([{"name": "r", "exactly": None}], [], "claim c, request r: expected exactly or firstAvailable"),
        ([{**exactly(), "firstAvailable": [{"name": "x", "deviceClassName": "gpu"}]}], [], "one of them"),
        ([{"name": "r", "firstAvailable": [{"deviceClassName": "gpu"}]}], [], "firstAvailable[0].name: Required value"),
        ([{"name": "r", "firstAvailable": [{"name": "x", "deviceClassName": "gpu", "adminAccess": True}]}], [],
         "firstAvailable[0].adminAccess"),
        ([exactly(allocationMode="All", count=2)], [], "count 2: expected none with allocationMode All"),
        ([exactly(selectors=[{}])], [], "claim c: selector #0.cel: Required value"),
        ([exactly(selectors=cel(5))], [], "claim c: selector #0.expression: 5: expected a text"),  # type: ignore[arg-type]
        ([exactly(of="")], [], "missing device class name"),
        ([exactly()], [{}], "claim c, constraint #0: empty constraint (unsupported constraint type?)"),
        ([exactly()], [{"distinctAttribute": "a/b"}], "claim c, constraint #0: empty constraint"),
        ([exactly()], [{"matchAttribute": "model"}], "matchAttribute 'model': expected domain/name"),
    ],
)  # fmt: skip
def test_bad_claims_are_told_the_field(requests: list[Any], constraints: list[Any], message: str) -> None:
    with pytest.raises((AllocationError, ValueError, TypeError)) as refused:
        Allocator([FOUR], CLASSES).allocate(claim(*requests, constraints=constraints), on())
    assert message in str(refused.value)


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (None, "resource slice: None: expected a mapping"),
        ({}, "resource slice.metadata: Required value"),
        ({"metadata": {"name": "s"}, "spec": {}}, "slice s: spec.pool: Required value"),
        ({"metadata": {"name": "s"}, "spec": {"driver": "d", "pool": {"name": "p"}}}, "spec.pool.generation: Required"),
        (resource_slice({"attributes": {}}), "devices[0].name: Required value"),
        (
            resource_slice({"name": "g", "attributes": {"a": 5}}),
            "attributes[a]: 5: expected exactly one of string, int",
        ),
        (
            resource_slice({"name": "g", "attributes": {"a": {"int": "5"}}}),
            "attributes[a].int: '5': expected an integer",
        ),
        (resource_slice({"name": "g", "capacity": {"m": {"value": "much"}}}), "devices[0].capacity[m]"),
    ],
)
def test_bad_slices_are_told_the_field(bad: Any, message: str) -> None:
    with pytest.raises((ValueError, TypeError)) as refused:
        Allocator([bad], CLASSES)
    assert message in str(refused.value)


@pytest.mark.parametrize(
    ("expression", "verdict"),
    [
        pytest.param(
            '-device.attributes["gpu.example.com"].count == -4', True, id="a sign is before all that dots join"
        ),
        pytest.param("- -1 == 1 && --1 == 1 && -(1) < 0", True, id="signs add up"),
        pytest.param("!false == true", True, id="not binds tighter than equals"),
        pytest.param("1 == 1 == true", True, id="comparisons one after the other"),
        pytest.param(r"device.driver == 'gpu\x2eexample\u002ecom'", True, id="escapes are read"),
        pytest.param(r"'a\nb' == 'anb'", False, id="and are not the letters they are written with"),
        pytest.param("0xff == 255", True, id="hexadecimal"),
        pytest.param("1 in [true]", False, id="1 is not true"),
        pytest.param("true && !false || false", True, id="not before and before or"),
        pytest.param("1 < 2 && 2 <= 2 && 3 > 2 && 3 >= 3", True, id="comparisons"),
        pytest.param('device.driver in ["a", "gpu.example.com"]', True, id="in a list"),
        pytest.param('"memory" in device.capacity["gpu.example.com"]', True, id="in a map"),
        pytest.param('device.driver.startsWith("gpu.") && device.driver.endsWith(".com")', True, id="texts"),
        pytest.param("device.attributes['gpu.example.com'].count == 4", True, id="an int, single quotes"),
        pytest.param('device.attributes["gpu.example.com"].count == "4"', False, id="an int is no text"),
        pytest.param("-1 < 0 && (1 == 2 || 2 == 2)", True, id="a sign and brackets"),
        pytest.param('"x" in device.attributes && device.attributes["x"].y == 1', False, id="and stops at false"),
        pytest.param('device.attributes["x"].y == 1 && false', False, id="false decides, whatever the other side does"),
        pytest.param('device.attributes["x"].y == 1 || true', True, id="so does true"),
    ],
)
def test_expressions(expression: str, verdict: bool) -> None:
    """The CEL specification: logical operators are commutative in the face of errors."""
    selector = DeviceSelector(expression)
    assert selector.matches(DRIVER, {DRIVER: {"count": 4}}, {DRIVER: {"memory": "1Gi"}}) is verdict


def test_an_error_that_decides_nothing_is_an_error() -> None:
    with pytest.raises(SelectorError, match="no such key: x"):
        DeviceSelector('device.attributes["x"].y == 1 && true').matches(DRIVER, {}, {})
    with pytest.raises(SelectorError, match="no such overload"):
        DeviceSelector("device.driver < 1").matches(DRIVER, {}, {})


# -- extended resources: misconception 21, pkg/apis/core/validation --------------------------------------------------


@pytest.mark.parametrize(
    ("resources", "error"),
    [
        pytest.param({"limits": {"nvidia.com/gpu": "1"}, "requests": {"nvidia.com/gpu": "1"}}, "", id="one GPU"),
        pytest.param({"limits": {"nvidia.com/gpu": "500m"}, "requests": {"nvidia.com/gpu": "500m"}},
                     "must be an integer", id="half a GPU"),
        pytest.param({"limits": {"nvidia.com/gpu": "2"}, "requests": {"nvidia.com/gpu": "1"}},
                     "must be equal to nvidia.com/gpu limit", id="overcommitted"),
        pytest.param({"requests": {"nvidia.com/gpu": "1"}}, "Limit must be set for non overcommitable resources",
                     id="a request without limit"),
    ],
)  # fmt: skip
def test_extended_resources_are_whole_and_not_overcommitted(resources: Any, error: str) -> None:
    errors = [str(one) for one in validate_container_resources("resources", resources, ())]
    assert any(error in one for one in errors) if error else errors == []


@pytest.mark.parametrize(
    "expression",
    [
        'device.capacity["g"].m >= quantity("1Gi")',
        "1 < true",
        "[1] < [2]",
        "device.driver in 5",
        '"a" in "abc"',
        "-device.driver == 1",
        'quantity("x") == quantity("1")',
        "quantity(5) == 1",
        'device.capacity["g"].m < 5',
    ],
)
def test_what_cel_has_no_overload_for_is_a_selector_error_and_no_traceback(expression: str) -> None:
    with pytest.raises(SelectorError):
        DeviceSelector(expression).matches("d", {}, {"g": {"m": "5Gi"}})


def test_selectors_may_nest_but_not_for_ever() -> None:
    assert DeviceSelector("(" * 40 + "true" + ")" * 40).matches("d", {}, {})
    assert DeviceSelector("!" * 3_000 + "true").matches("d", {}, {})
    assert not DeviceSelector("!" * 3_001 + "true").matches("d", {}, {})
    with pytest.raises(ValueError, match="more than 50 expressions in each other"):
        DeviceSelector("(" * 3_000 + "true" + ")" * 3_000)


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("['a' 'b']", "\"'b'\", expected ','"),
        ("1 < 9223372036854775808", "9223372036854775808 is greater than 9223372036854775807"),
        (r"'\q' == 'q'", "is no escape that CEL knows"),
        ("1.5 < 2", "is not understood"),
    ],
)
def test_what_is_no_cel_is_refused_when_the_selector_is_made(expression: str, message: str) -> None:
    with pytest.raises(ValueError) as refused:
        DeviceSelector(expression)
    assert message in str(refused.value)
