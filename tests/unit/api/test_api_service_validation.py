"""APIServices: what may be stored, in upstream's words (kube-aggregator, apiregistration/validation)."""

from __future__ import annotations

from typing import Any

import pytest

from k8slab.api.decoding import DecodeError
from k8slab.api.defaults import apply_defaults
from k8slab.api.validation import validate_create, validate_status_update, validate_update

SERVICE = {"namespace": "kube-system", "name": "metrics"}


def api_service(name: str = "v1.shop.io", **spec: Any) -> dict[str, Any]:
    given = {"group": "shop.io", "version": "v1", "groupPriorityMinimum": 100, "versionPriority": 100, **spec}
    return {
        "apiVersion": "apiregistration.k8s.io/v1",
        "kind": "APIService",
        "metadata": {"name": name},
        "spec": {key: value for key, value in given.items() if value is not None},
    }


def wrong(obj: dict[str, Any]) -> list[str]:
    return [f"{cause.field}: {cause.message}" for cause in validate_create(apply_defaults(obj))]


@pytest.mark.parametrize("obj", [
    pytest.param(api_service(), id="a local one"),
    pytest.param(api_service(service=SERVICE), id="one that names a Service: its port is 443"),
    pytest.param(api_service("v1.", group=None), id="the legacy group"),
    pytest.param(api_service(service=SERVICE, caBundle="Y2E="), id="a certificate and no insecureSkipTLSVerify"),
    pytest.param(api_service(groupPriorityMinimum=20_000, versionPriority=1_000), id="the greatest priorities"),
])  # fmt: skip
def test_what_may_be_stored(obj: dict[str, Any]) -> None:
    assert wrong(obj) == []


@pytest.mark.parametrize(("obj", "problems"), [
    pytest.param(
        api_service("v2.shop.io"),
        ['metadata.name: Invalid value: "v2.shop.io": must be `spec.version+"."+spec.group`: "v1.shop.io"'],
        id="a name that is not version and group",
    ),
    pytest.param(
        api_service("v2.", group=None, version="v2"),
        ["spec.group: Required value: only v1 may have an empty group and it better be legacy kube"],
        id="an empty group of another version",
    ),
    pytest.param(
        api_service(groupPriorityMinimum=None, versionPriority=1_001),
        [
            "spec.groupPriorityMinimum: Invalid value: 0: must be positive and less than 20000",
            "spec.versionPriority: Invalid value: 1001: must be positive and less than 1000",
        ],
        id="priorities of none and of too much",
    ),
    pytest.param(
        api_service(caBundle="Y2E=", insecureSkipTLSVerify=True),
        [
            'spec.caBundle: Invalid value: "2 bytes": local APIServices may not have a caBundle',
            "spec.insecureSkipTLSVerify: Invalid value: true: local APIServices may not have insecureSkipTLSVerify",
        ],
        id="a local one with what only a remote one needs",
    ),
    pytest.param(
        api_service(service={"port": 0}),
        [
            "spec.service.namespace: Required value",
            "spec.service.name: Required value",
            "spec.service.port: Invalid value: 0: port is not valid: must be between 1 and 65535, inclusive",
        ],
        id="a Service that names nothing",
    ),
    pytest.param(
        api_service(service=SERVICE, caBundle="Y2E=", insecureSkipTLSVerify=True),
        ["spec.insecureSkipTLSVerify: Invalid value: true: may not be true if caBundle is present"],
        id="a certificate that is not to be looked at",
    ),
])  # fmt: skip
def test_what_is_refused_and_why(obj: dict[str, Any], problems: list[str]) -> None:
    assert wrong(obj) == problems


def test_groups_and_versions_have_the_syntax_of_names() -> None:
    found = wrong(api_service("1.Shop", group="Shop", version="1"))
    assert [text.partition(":")[0] for text in found] == ["spec.group", "spec.version"]


def test_a_value_of_the_wrong_type_is_refused_when_it_is_read() -> None:
    with pytest.raises(DecodeError, match="of type int32"):
        apply_defaults(api_service(groupPriorityMinimum="many"))


def test_an_update_obeys_the_same_rules_and_a_status_knows_three_answers() -> None:
    old, new = (apply_defaults(api_service(versionPriority=priority)) for priority in (100, 0))
    for obj in (old, new):
        obj["metadata"]["resourceVersion"] = "1"
    assert [cause.field for cause in validate_update(new, old)] == ["spec.versionPriority"]
    new["status"] = {"conditions": [{"type": "Available", "status": "Perhaps"}]}
    assert [cause.field for cause in validate_status_update(new, old)] == ["status.conditions[0].status"]
