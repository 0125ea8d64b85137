"""Golden topic `kubelet_misc`: cgroup numbers, Services' variables, $(VAR), image names, plurals."""

from __future__ import annotations

from typing import Any

from k8slab.api.scheme import guess_resource
from k8slab.kubelet.cgroups import cpu_shares_to_weight, milli_cpu_to_quota, milli_cpu_to_shares, pod_cgroup
from k8slab.kubelet.envvars import from_services
from k8slab.kubelet.expansion import expand
from k8slab.kubelet.image_names import parse_image_name


def run(case_input: dict[str, Any]) -> Any:
    return globals()[f"_{case_input['op']}"](case_input)


def _cpu(case: dict[str, Any]) -> Any:
    shares = milli_cpu_to_shares(case["milliCPU"])
    quota = milli_cpu_to_quota(case["milliCPU"])
    return {"shares": shares, "quota": quota, "weightV2": cpu_shares_to_weight(shares)}


def _weight(case: dict[str, Any]) -> Any:
    return {"weightV2": cpu_shares_to_weight(case["shares"])}


def _podcgroup(case: dict[str, Any]) -> Any:
    cgroup = pod_cgroup(case["pod"])
    return {"cpuShares": cgroup.cpu_shares, "cpuQuota": cgroup.cpu_quota, "memory": cgroup.memory}


def _envvars(case: dict[str, Any]) -> Any:
    return {"env": [list(pair) for pair in from_services(case["services"])]}


def _expand(case: dict[str, Any]) -> Any:
    return {"output": expand(case["input"], case["env"])}


def _image(case: dict[str, Any]) -> Any:
    try:
        return parse_image_name(case["image"])._asdict()
    except ValueError as error:
        return {"error": str(error)}


def _plural(case: dict[str, Any]) -> Any:
    return {"plural": guess_resource(case["kind"]), "singular": case["kind"].lower()}
