"""Scheme: which resource serves which kind. Facts from the discovery documents of Kubernetes 1.36."""

import pytest

from k8slab.api.scheme import (
    DEPLOYMENTS,
    GVK,
    GVR,
    HORIZONTALPODAUTOSCALERS,
    NODES,
    PODS,
    SCHEME,
    ResourceInfo,
    UnknownKindError,
    UnknownResourceError,
    foreign_kind_problem,
    guess_resource,
    gvk_of,
    parse_group_version,
)


def test_every_kind_of_a_served_group_has_a_resource() -> None:
    assert SCHEME.kind_of(PODS) == GVK("", "v1", "Pod")
    assert SCHEME.resource_of(GVK("apps", "v1", "Deployment")).gvr == DEPLOYMENTS
    assert len(list(SCHEME)) == 68


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        pytest.param("po", "Pod", id="a short name finds its resource"),
        pytest.param("Deployment", "Deployment", id="kubectl does not care about case"),
        pytest.param("deployments.apps", "Deployment", id="the group may follow the name"),
        pytest.param("deployments.v1.apps", "Deployment", id="version and group may follow the name"),
        pytest.param("hpa", "HorizontalPodAutoscaler", id="a group with two versions gives the preferred one"),
        pytest.param("ev", "Event", id="a name that two groups share means the core group's"),
        pytest.param("crds", "CustomResourceDefinition", id="a resource may have several short names"),
    ],
)
def test_find_reads_names_as_kubectl_does(text: str, kind: str) -> None:
    assert SCHEME.find(text).gvk.kind == kind


def test_find_prefers_the_first_version_and_the_core_group() -> None:
    assert SCHEME.find("hpa").gvr == HORIZONTALPODAUTOSCALERS
    assert SCHEME.find("events").gvr.group == ""


def test_unknown_names_are_errors_that_name_them() -> None:
    with pytest.raises(UnknownResourceError, match='resource type "foos"'):
        SCHEME.find("foos")
    with pytest.raises(UnknownResourceError, match=r"gadgets\.ex\.io"):
        SCHEME.kind_of(GVR("ex.io", "v1", "gadgets"))


@pytest.mark.parametrize(
    ("gvk", "served"),
    [
        pytest.param(GVK("extensions", "v1beta1", "Deployment"), "served in apps/v1", id="a retired group"),
        pytest.param(GVK("apps", "v1", "Deploymen"), "Deployment, ReplicaSet", id="a misspelt kind"),
        pytest.param(GVK("batch", "v9", "Thing"), "versions of the group: batch/v1", id="an unknown version"),
    ],
)
def test_an_unknown_kind_of_a_builtin_group_names_what_is_served(gvk: GVK, served: str) -> None:
    assert SCHEME.is_builtin_group(gvk.group)
    with pytest.raises(UnknownKindError, match=served):
        SCHEME.resource_of(gvk)


def test_pods_have_the_subresources_of_discovery() -> None:
    info = SCHEME.info(PODS)
    assert info.subresources["eviction"].gvk == GVK("policy", "v1", "Eviction")
    assert info.subresources["binding"].verbs == ("create",)
    assert info.subresources["status"].gvk == info.gvk
    assert info.categories == ("all",)
    assert not SCHEME.info(NODES).namespaced
    assert "deletecollection" not in SCHEME.find("namespaces").verbs


def test_storage_versions() -> None:
    assert SCHEME.storage_gvk(GVK("autoscaling", "v1", "HorizontalPodAutoscaler")).version == "v2"
    assert SCHEME.storage_gvk(GVK("events.k8s.io", "v1", "Event")) == GVK("", "v1", "Event")
    assert SCHEME.preferred("autoscaling", "HorizontalPodAutoscaler") == SCHEME.kind_of(HORIZONTALPODAUTOSCALERS)


def test_a_copy_takes_custom_resources_and_leaves_the_builtin_scheme_alone() -> None:
    scheme = SCHEME.copy()
    gvk = GVK("ex.io", "v1", "Widget")
    info: ResourceInfo = scheme.unstructured(gvk)
    scheme.register(info)
    assert scheme.find("widget") == info
    assert gvk in scheme and gvk not in SCHEME


@pytest.mark.parametrize(
    ("gvk", "field", "text"),
    [
        pytest.param(GVK("ex.io", "v1", "foo bar"), "kind", '"foo bar": may have mixed case', id="a space in the kind"),
        pytest.param(GVK("ex.io", "v1", ""), "kind", '"": may have mixed case', id="no kind"),
        pytest.param(GVK("ex io", "v1", "Foo"), "apiVersion", 'group "ex io": a lowercase RFC 1123', id="a bad group"),
        pytest.param(GVK("ex.io", "1", "Foo"), "apiVersion", 'version "1": a DNS-1035 label', id="a bad version"),
    ],
)
def test_foreign_kinds_are_named_as_custom_resources_are(gvk: GVK, field: str, text: str) -> None:
    problem = foreign_kind_problem(gvk)
    assert problem is not None and problem[0] == field and problem[1].startswith(text)
    with pytest.raises(ValueError, match=f"^{field}: "):
        SCHEME.unstructured(gvk)


def test_group_versions_and_guessed_plurals() -> None:
    assert parse_group_version("v1") == ("", "v1")
    assert gvk_of({"apiVersion": "apps/v1", "kind": "Deployment"}) == GVK("apps", "v1", "Deployment")
    with pytest.raises(ValueError, match="unexpected GroupVersion string: a/b/c"):
        parse_group_version("a/b/c")
    assert guess_resource("Endpoints") == "endpoints"
