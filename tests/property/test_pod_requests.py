"""Pod requests against a twin that walks through the start of a Pod, moment by moment, and takes the greatest sum."""

from __future__ import annotations

from typing import Any

import hypothesis.strategies as st
from hypothesis import given, settings

from k8slab.api.pod_requests import pod_requests
from tests.counts import examples

cpus = st.one_of(st.none(), st.integers(0, 4))
init_containers = st.tuples(cpus, st.booleans())


def _container(cpu: int | None, sidecar: bool = False) -> dict[str, Any]:
    container: dict[str, Any] = {"resources": {} if cpu is None else {"requests": {"cpu": str(cpu)}}}
    return {**container, "restartPolicy": "Always"} if sidecar else container


def peak(containers: list[int | None], inits: list[tuple[int | None, bool]]) -> int:
    running, moments = 0, [0]
    for cpu, is_sidecar in inits:
        moments.append(running + (cpu or 0))
        if is_sidecar:
            running += cpu or 0
    moments.append(running + sum(cpu or 0 for cpu in containers))
    return max(moments)


@settings(deadline=None, max_examples=examples(300))
@given(st.lists(cpus, min_size=1, max_size=3), st.lists(init_containers, max_size=4))
def test_requests_are_the_peak_of_the_start(containers: list[int | None], inits: list[tuple[int | None, bool]]) -> None:
    spec = {
        "containers": [_container(cpu) for cpu in containers],
        "initContainers": [_container(cpu, sidecar) for cpu, sidecar in inits],
    }
    total = pod_requests({"spec": spec})
    asked = [cpu for cpu in [*containers, *(cpu for cpu, _ in inits)] if cpu is not None]
    assert ("cpu" in total) == bool(asked)
    assert (total["cpu"].value() if asked else 0) == peak(containers, inits)
