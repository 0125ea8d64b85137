"""Decoding: what a Go struct keeps of a JSON object. Texts as encoding/json and the API server give them."""

import pytest

from k8slab.api.decoding import DecodeError, decode
from k8slab.api.schema import field_of, fields_of, has_schema, is_atomic_type, type_of
from k8slab.api.scheme import GVK, SCHEME

POD = GVK("", "v1", "Pod")


def pod(**spec: object) -> dict[str, object]:
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": spec}


@pytest.mark.parametrize(
    ("manifest", "text"),
    [
        pytest.param(
            pod(containers="x"),
            "json: cannot unmarshal string into Go struct field PodSpec.spec.containers of type []v1.Container",
            id="a text for a list",
        ),
        pytest.param(
            pod(containers=[{"name": 1}]),
            "json: cannot unmarshal number into Go struct field Container.spec.containers.name of type string",
            id="a number for a text",
        ),
        pytest.param(
            pod(hostNetwork="yes"),
            "json: cannot unmarshal string into Go struct field PodSpec.spec.hostNetwork of type bool",
            id="a text for a boolean",
        ),
        pytest.param(
            pod(priority="high"),
            "json: cannot unmarshal string into Go struct field PodSpec.spec.priority of type int32",
            id="a text for a number",
        ),
        pytest.param(
            pod(priority=3_000_000_000),
            "json: cannot unmarshal number 3000000000 into Go struct field PodSpec.spec.priority of type int32",
            id="a number beyond 32 bits",
        ),
        pytest.param(
            {"spec": "x"},
            "json: cannot unmarshal string into Go struct field Pod.spec of type v1.PodSpec",
            id="a text for a struct",
        ),
        pytest.param(
            pod(containers=[{"resources": {"requests": {"cpu": "abc"}}}]),
            "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
            id="a text that is no quantity",
        ),
    ],
)
def test_a_wrong_type_gives_upstreams_text(manifest: dict[str, object], text: str) -> None:
    with pytest.raises(DecodeError) as caught:
        decode(manifest, POD)
    assert str(caught.value) == text


def test_the_error_carries_path_value_and_expectation_in_plain_words() -> None:
    with pytest.raises(DecodeError) as caught:
        decode(pod(containers=[{"ports": [{"containerPort": "80"}]}]))
    assert caught.value.path == "spec.containers[0].ports[0].containerPort"
    assert (caught.value.value, caught.value.expected) == ("80", "a 32-bit integer")


def test_base64_is_checked() -> None:
    with pytest.raises(DecodeError, match="illegal base64 data at input byte 0"):
        decode({"data": {"x": "!!!"}}, GVK("", "v1", "Secret"))


def test_unknown_fields_are_dropped_and_reported_in_the_order_written() -> None:
    manifest = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "spec": {"template": {"spec": {"containers": [{"name": "c", "imagePolicy": "x"}]}}, "bogus": 1},
        "extra": {"a": 1},
    }
    decoded = decode(manifest)
    assert decoded.unknown == ("spec.template.spec.containers[0].imagePolicy", "spec.bogus", "extra")
    assert "bogus" not in decoded.object["spec"] and "extra" not in decoded.object


def test_empty_optional_fields_vanish_and_nested_structs_appear() -> None:
    decoded = decode(pod(containers=[{"name": "c"}], nodeSelector={}, tolerations=[], hostNetwork=False, nodeName=""))
    assert decoded.object["spec"] == {"containers": [{"name": "c", "resources": {}}]}
    assert decoded.object["status"] == {}


def test_pointers_keep_explicit_zeros_and_null_means_absent() -> None:
    decoded = decode(pod(containers=[], terminationGracePeriodSeconds=0, priority=None)).object["spec"]
    assert decoded == {"containers": [], "terminationGracePeriodSeconds": 0}


def test_quantities_and_times_become_canonical() -> None:
    manifest = pod(containers=[{"name": "c", "resources": {"requests": {"cpu": 0.5, "memory": "1024Mi"}}}])
    manifest["metadata"] = {"name": "p", "deletionTimestamp": "2026-01-01T02:00:00+02:00"}
    decoded = decode(manifest).object
    assert decoded["spec"]["containers"][0]["resources"]["requests"] == {"cpu": "500m", "memory": "1Gi"}
    assert decoded["metadata"]["deletionTimestamp"] == "2026-01-01T00:00:00Z"


def test_a_bad_time_is_an_error() -> None:
    with pytest.raises(DecodeError, match='parsing time "soon"'):
        decode({"metadata": {"creationTimestamp": "soon"}}, POD)


def test_decoding_is_idempotent_and_does_not_touch_its_input() -> None:
    manifest = pod(containers=[{"name": "c", "bogus": 1}])
    before = repr(manifest)
    once = decode(manifest).object
    assert decode(once).object == once and repr(manifest) == before


def test_kinds_without_a_schema_pass_through() -> None:
    widget = {"apiVersion": "ex.io/v1", "kind": "Widget", "spec": {"a": None, "b": []}}
    assert decode(widget).object == widget


def test_the_schema_knows_list_types_and_patch_keys() -> None:
    ports = field_of("core.Container", "ports")
    assert ports is not None and (ports.list_keys, ports.merge_key) == (("containerPort", "protocol"), "containerPort")
    strategy = field_of("apps.DeploymentSpec", "strategy")
    assert strategy is not None and strategy.retain_keys
    assert is_atomic_type("meta.LabelSelector") and not is_atomic_type("core.PodSpec")
    assert field_of("core.PodSpec", "bogus") is None
    protocol = field_of("core.ContainerPort", "protocol")
    assert protocol is not None and protocol.default == "TCP"


def test_every_builtin_kind_but_one_has_a_schema() -> None:
    without = [info.gvk.kind for info in SCHEME if not has_schema(info.gvk)]
    assert without == ["CustomResourceDefinition"]
    for info in SCHEME:
        if has_schema(info.gvk):
            assert fields_of(type_of(info.gvk))


def test_null_in_a_list_is_the_zero_value_of_a_structure() -> None:
    """As Go decodes it: the element is there, with the fields that are always written."""
    service = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "a"}, "spec": {"ports": [None]}}
    assert decode(service).object["spec"]["ports"] == [{"port": 0, "targetPort": 0}]
