"""HTTP without a network: paths, methods, media types, bodies, views."""

from __future__ import annotations

from typing import Any

import pytest

from k8slab.api.go_json import JSONError, parse
from tests.unit.apiserver.conftest import Bench

BASE = "/api/v1/namespaces/default/configmaps"
BODY = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"k": "v"}}


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        pytest.param("POST", f"{BASE}/a", 405, id="an item cannot be posted to"),
        pytest.param("PATCH", BASE, 405, id="a collection cannot be patched"),
        pytest.param("DELETE", "/api/v1/namespaces", 405, id="namespaces have no deletecollection"),
        pytest.param("PUT", "/api", 405, id="discovery is read only"),
        pytest.param("GET", "/api/v1/namespaces/default/widgets", 404, id="an unknown resource"),
        pytest.param("GET", f"{BASE}/a/nope", 404, id="an unknown subresource"),
        pytest.param("POST", "/api/v1/configmaps", 405, id="creating needs a namespace"),
        pytest.param("DELETE", "/api/v1/configmaps", 405, id="so does deleting a collection"),
        pytest.param("GET", "/api/v1/configmaps/a", 404, id="and so does an item"),
        pytest.param("GET", "/api/v1/namespaces/default/nodes", 404, id="nodes are in no namespace"),
        pytest.param("GET", "/api/v1/configmaps", 200, id="lists go over all namespaces"),
        pytest.param("GET", "/apis/nope.io/v1/things", 404, id="an unknown group"),
        pytest.param("GET", "/apis/apps/v9/deployments", 404, id="an unknown version"),
        pytest.param("GET", "/healthz", 200, id="health"),
        pytest.param("GET", "/version", 200, id="version"),
        pytest.param("GET", "/apis/apps/v1", 200, id="the resources of a group"),
    ],
)
def test_paths_and_methods(bench: Bench, method: str, path: str, status: int) -> None:
    assert bench.http(method, path)[0] == status


def test_the_version_is_that_of_the_golden_data(bench: Bench) -> None:
    assert bench.http("GET", "/version")[1]["gitVersion"] == "v1.36.2"


def test_a_page_that_does_not_exist_is_plain_text(bench: Bench) -> None:
    status, text, headers = bench.http("GET", "/apis/nope.io/v1/things")
    assert (status, text, headers["content-type"]) == (404, "404 page not found\n", "text/plain; charset=utf-8")


@pytest.mark.parametrize(
    ("body", "text"),
    [
        pytest.param(b"", "unexpected end of JSON input (<empty>)", id="nothing"),
        pytest.param(b'{"a":', 'unexpected end of JSON input ({"a":)', id="half an object"),
        pytest.param(b"[1]", "json: cannot unmarshal array into Go value of type struct", id="an array"),
        pytest.param(
            b'{"kind": 5}', "json: cannot unmarshal number into Go struct field .kind of type string", id="a number"
        ),
    ],
)
def test_malformed_bodies_are_explained(bench: Bench, body: bytes, text: str) -> None:
    status, answer, _ = bench.http("POST", BASE, body)
    assert status == 400 and text in answer["message"]
    assert answer["message"].startswith("the object provided is unrecognized (must be of type ConfigMap): ")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param("notjson", "invalid character 'o' in literal null (expecting 'u')", id="a broken literal"),
        pytest.param('{"a" 1}', "invalid character '1' after object key", id="a colon is missing"),
        pytest.param('{"a": 1 "b"}', "invalid character '\"' after object key:value pair", id="a comma is missing"),
        pytest.param("[1 2]", "invalid character '2' after array element", id="a comma is missing in an array"),
        pytest.param("{} x", "invalid character 'x' after top-level value", id="something follows"),
        pytest.param(
            "{a: 1}", "invalid character 'a' looking for beginning of object key string", id="an unquoted key"
        ),
        pytest.param("abc", "invalid character 'a' looking for beginning of value", id="a word"),
        pytest.param('{"a": "x', "unexpected end of JSON input", id="an open string"),
    ],
)
def test_json_errors_are_those_of_go(text: str, message: str) -> None:
    with pytest.raises(JSONError) as caught:
        parse(text.encode())
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param("[NaN]", "invalid character 'N' looking for beginning of value", id="not a number"),
        pytest.param("1e999", "json: cannot unmarshal number 1e999 into Go value of type float64", id="too large"),
        pytest.param("[" * 100_000, "invalid character '[' exceeded max depth", id="a hundred thousand brackets"),
        pytest.param('{"a":' * 100_000, "invalid character '{' exceeded max depth", id="as many braces"),
    ],
)
def test_what_pythons_parser_would_read_or_die_of_is_refused(bench: Bench, text: str, message: str) -> None:
    status, answer, _ = bench.http("POST", BASE, text.encode())
    assert status == 400 and f"json parse error: {message}" in answer["message"]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        pytest.param("spec: {a: [.nan]}", "spec.a[0]: json: unsupported value: NaN", id="not a number"),
        pytest.param("spec: " + "[" * 50_000, "yaml: exceeded max depth", id="fifty thousand brackets"),
        pytest.param("spec: &a [*a]", "yaml: exceeded max depth", id="an anchor that contains itself"),
        pytest.param("spec: 2026-13-45", "yaml: month must be in 1..12", id="a date that there is not"),
    ],
)
def test_yaml_that_json_cannot_hold_is_refused(bench: Bench, text: str, why: str) -> None:
    status, answer, _ = bench.http("POST", BASE, text.encode(), Content_Type="application/yaml")
    assert status == 400 and why in answer["message"]


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        pytest.param({"query": "dryRun=All"}, "query: 'dryRun=All': expected a mapping", id="a query as text"),
        pytest.param({"headers": [("accept", "*/*")]}, "headers: .*: expected a mapping", id="headers as pairs"),
        pytest.param({"body": "{}"}, "body: str: expected bytes", id="a body as text"),
        pytest.param({"path": b"/"}, "path: b'/': expected a text", id="a path as bytes"),
    ],
)
def test_arguments_of_another_type_are_named_at_the_call(bench: Bench, arguments: Any, text: str) -> None:
    with pytest.raises(TypeError, match=text):
        bench.server.handle("POST", **{"path": BASE, **arguments})


def test_unknown_and_duplicate_fields_are_warned_about(bench: Bench) -> None:
    raw = b'{"metadata":{"name":"a","name":"b"},"data":{"x":"1"},"extra":1}'
    status, answer, headers = bench.http("POST", BASE, raw)
    assert status == 201 and answer["metadata"]["name"] == "b"
    assert headers["warning"] == ['299 - "duplicate field \\"metadata.name\\""', '299 - "unknown field \\"extra\\""']
    assert "warning" not in bench.http("POST", BASE, raw.replace(b"b", b"c"), {"fieldValidation": "Ignore"})[2]
    status, answer, _ = bench.http("POST", BASE, raw, {"fieldValidation": "Strict"})
    assert status == 400
    assert answer["message"].endswith('strict decoding error: duplicate field "metadata.name", unknown field "extra"')


def test_yaml_is_understood_both_ways(bench: Bench) -> None:
    raw = b"metadata:\n  name: y\ndata:\n  a: '1'\n"
    status, _, headers = bench.http("POST", BASE, raw, Content_Type="application/yaml", Accept="application/yaml")
    assert status == 201 and headers["content-type"] == "application/yaml"
    assert bench.http("GET", f"{BASE}/y")[1]["data"] == {"a": "1"}


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        pytest.param({"Content_Type": "text/plain"}, 415, id="a body that is no API object"),
        pytest.param({"Accept": "text/html"}, 406, id="an answer nobody can give"),
        pytest.param({"Accept": "text/html, */*;q=0.1"}, 201, id="a second choice"),
        pytest.param({"Content_Type": "application/json; charset=utf-8"}, 201, id="a media type with a parameter"),
    ],
)
def test_media_types(bench: Bench, headers: dict[str, str], status: int) -> None:
    assert bench.http("POST", BASE, BODY, **headers)[0] == status


def test_a_patch_needs_a_patch_type(bench: Bench) -> None:
    bench.http("POST", BASE, BODY)
    status, answer, _ = bench.http("PATCH", f"{BASE}/a", {"data": {"x": "y"}})
    assert (status, answer["message"]) == (415, "415: Unsupported Media Type")
    kind = "application/strategic-merge-patch+json"
    assert bench.http("PATCH", f"{BASE}/a", {"data": {"x": "y"}}, Content_Type=kind)[1]["data"] == {"k": "v", "x": "y"}


def test_items_of_a_list_do_not_repeat_their_kind(bench: Bench) -> None:
    bench.http("POST", BASE, BODY)
    listed = bench.http("GET", BASE)[1]
    assert listed["kind"] == "ConfigMapList" and set(listed["items"][0]) == {"metadata", "data"}


def test_metadata_alone_can_be_asked_for(bench: Bench) -> None:
    bench.http("POST", BASE, BODY)
    accept = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"
    item = bench.http("GET", f"{BASE}/a", Accept=accept)[1]
    assert item["kind"] == "PartialObjectMetadata" and "data" not in item
    assert bench.http("GET", BASE, Accept=accept)[1]["kind"] == "PartialObjectMetadataList"


def test_a_watch_answers_with_frames(bench: Bench) -> None:
    bench.http("POST", BASE, BODY)
    response = bench.run(bench.server.handle("GET", BASE, {"watch": "1", "timeoutSeconds": "1"}))
    frames: list[Any] = []

    async def read() -> None:
        while (frame := await response.frames.next()) is not None:
            frames.append((frame["type"], frame["object"]["metadata"]["name"]))

    bench.run(read(), for_ms=2_000)
    assert frames == [("ADDED", "a")]


def test_the_name_and_namespace_of_a_body_must_be_those_of_the_path(bench: Bench) -> None:
    bench.http("POST", BASE, BODY)
    other = {**BODY, "metadata": {"name": "zzz"}}
    assert bench.http("PUT", f"{BASE}/a", other)[1]["message"] == (
        "the name of the object (zzz) does not match the name on the URL (a)"
    )
    elsewhere = {**BODY, "metadata": {"name": "a", "namespace": "other"}}
    for method, path in (("PUT", f"{BASE}/a"), ("POST", BASE)):
        assert bench.http(method, path, elsewhere)[0] == 400


@pytest.mark.parametrize(
    ("method", "revision", "query", "status", "message"),
    [
        pytest.param("POST", "0", "", 201, None, id="zero names no revision"),
        pytest.param("POST", "abc", "", 201, None, id="creating overlooks a revision that is no number"),
        pytest.param(
            "POST", "4", "", 500, "resourceVersion should not be set on objects to be created", id="creating from one"
        ),
        pytest.param("POST", "4", "All", 201, None, id="only the storage refuses, which a dry run does not reach"),
        pytest.param("PUT", "abc", "", 500, 'strconv.ParseUint: parsing "abc": invalid syntax', id="no number"),
        pytest.param(
            "PUT",
            "99999999999999999999",
            "",
            500,
            'strconv.ParseUint: parsing "99999999999999999999": value out of range',
            id="no 64 bits",
        ),
    ],
)
def test_the_revision_in_a_body_is_read_as_a_number(
    bench: Bench, method: str, revision: str, query: str, status: int, message: str | None
) -> None:
    if method == "PUT":
        bench.http("POST", BASE, BODY)
    body = {**BODY, "metadata": {"name": "a", "resourceVersion": revision}}
    path = BASE if method == "POST" else f"{BASE}/a"
    answered, answer, _ = bench.http(method, path, body, {"dryRun": query} if query else {})
    assert (answered, answer.get("message")) == (status, message)
