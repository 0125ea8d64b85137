"""cgroups, Services' variables, $(VAR) and image names where the golden cases are silent."""

from __future__ import annotations

from typing import Any

import pytest

from k8slab.kubelet.cgroups import (
    CgroupVersionError,
    check_cgroup_version,
    cpu_shares_to_weight,
    memory_limit_file,
    milli_cpu_to_quota,
    milli_cpu_to_shares,
    pod_cgroup,
)
from k8slab.kubelet.envvars import from_services
from k8slab.kubelet.expansion import expand
from k8slab.kubelet.image_names import parse_image_name


def test_shares_and_weights_stay_within_the_kernels_bounds() -> None:
    assert [milli_cpu_to_shares(milli) for milli in (0, 1, 256_000, 999_999_999)] == [2, 2, 262_144, 262_144]
    assert [cpu_shares_to_weight(shares) for shares in (0, 1, 2, 262_144, 300_000)] == [0, 1, 1, 10_000, 10_000]
    assert [milli_cpu_to_quota(milli) for milli in (0, 1, 9, 10)] == [0, 1000, 1000, 1000]


def container(name: str, **limits: str) -> dict[str, Any]:
    return {"name": name, "resources": {"requests": {"cpu": "100m"}, "limits": limits}}


def test_an_init_container_is_judged_with_the_sidecars_before_it() -> None:
    sidecar = {**container("s", cpu="1", memory="1Gi"), "restartPolicy": "Always"}
    spec = {"containers": [container("c", cpu="1", memory="1Gi")], "initContainers": [sidecar, {"name": "i"}]}
    assert pod_cgroup({"metadata": {"name": "p"}, "spec": spec}).memory == 2 << 30
    turned = {**spec, "initContainers": [{"name": "i"}, sidecar]}
    assert pod_cgroup({"metadata": {"name": "p"}, "spec": turned}).memory is None


def test_cgroup_v1_is_refused_unless_asked_for() -> None:
    with pytest.raises(CgroupVersionError, match="kubelet is configured to not run on a host using cgroup v1"):
        check_cgroup_version(1)
    check_cgroup_version(1, fail_cgroup_v1=False)
    check_cgroup_version(2)
    with pytest.raises(ValueError, match="cgroup_version 3: expected 1 or 2"):
        check_cgroup_version(3)


def test_the_file_with_the_limit_depends_on_the_version() -> None:
    assert memory_limit_file(2) == "/sys/fs/cgroup/memory.max"
    assert memory_limit_file(1) == "/sys/fs/cgroup/memory/memory.limit_in_bytes"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("$(A)$(A)", "11", id="twice"),
        pytest.param("$$(A)", "$(A)", id="escaped"),
        pytest.param("$$$(A)", "$1", id="escaped, and then a reference"),
        pytest.param("$(MISSING)", "$(MISSING)", id="an unknown name stays"),
        pytest.param("$()", "$()", id="no name at all"),
        pytest.param("é$(A)", "é1", id="letters beyond ASCII are kept"),
        pytest.param("$é", "$Ã\ufffd", id="after a bare $ upstream takes one byte for a character"),
    ],
)
def test_expansion(text: str, expected: str) -> None:
    assert expand(text, {"A": "1"}) == expected


def test_the_first_scope_that_has_a_name_counts() -> None:
    assert expand("$(A)$(B)", {"A": "1"}, {"A": "2", "B": "3"}) == "13"


def test_headless_services_and_those_without_ports_give_no_variables() -> None:
    services = [
        {"metadata": {"name": "a"}, "spec": {"clusterIP": "None", "ports": [{"port": 1}]}},
        {"metadata": {"name": "b"}, "spec": {"clusterIP": "1.1.1.1"}},
        {"metadata": {"name": "c"}, "spec": {"ports": [{"port": 1}]}},
    ]
    assert from_services(services) == []


HEX = "0123456789abcdef" * 4


@pytest.mark.parametrize(
    ("image", "expected"),
    [
        pytest.param(f"nginx@sha256:{HEX}", ("docker.io/library/nginx", "", f"sha256:{HEX}"), id="a digest, no tag"),
        pytest.param(f"a/b:1@sha256:{HEX}", ("docker.io/a/b", "1", f"sha256:{HEX}"), id="a tag and a digest"),
        pytest.param("index.docker.io/x", ("docker.io/library/x", "latest", ""), id="the old name of Docker Hub"),
        pytest.param("[::1]:5000/x", ("[::1]:5000/x", "latest", ""), id="an address of IPv6"),
        pytest.param("UPPER/x", ("UPPER/x", "latest", ""), id="an upper-case first part is a host"),
    ],
)
def test_image_names(image: str, expected: tuple[str, str, str]) -> None:
    assert parse_image_name(image) == expected


@pytest.mark.parametrize(
    ("image", "words"),
    [
        pytest.param(HEX, f"invalid repository name ({HEX}), cannot specify 64-byte", id="an identifier"),
        pytest.param(f"x@sha512:{HEX}", "invalid checksum digest length", id="a digest that is too short"),
        pytest.param(f"x@md5:{HEX}", "unsupported digest algorithm", id="an unknown algorithm"),
        pytest.param(f"x:1@SHA256:{HEX}", "invalid checksum digest format", id="an algorithm in upper case"),
        pytest.param(f"x@sha256:{HEX.upper()}", "invalid checksum digest format", id="an upper-case digest"),
        pytest.param("x" * 256, "repository name must not be more than 255 characters", id="a long name"),
        pytest.param("x:" + "t" * 129, "invalid reference format", id="a long tag"),
    ],
)
def test_what_is_no_image_name(image: str, words: str) -> None:
    with pytest.raises(ValueError) as error:
        parse_image_name(image)
    assert words in str(error.value)
