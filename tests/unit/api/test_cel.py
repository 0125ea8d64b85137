"""Expressions: what Kubernetes' functions give, and what goes wrong in upstream's words."""

from __future__ import annotations

import builtins
from typing import Any

import pytest

from k8slab.api.cel import (
    CELUnavailableError,
    CompileError,
    EvaluationError,
    compile_expression,
    is_available,
    program,
)
from k8slab.api.cel.initialisers import fields_of_message, message, mismatch, rewrite

POD = {
    "metadata": {"name": "web", "labels": {"app": "web"}},
    "spec": {
        "replicas": 5,
        "containers": [
            {"name": "c", "image": "nginx:1", "resources": {"limits": {"memory": "1Gi"}}},
            {"name": "d", "image": "docker.io/redis:7"},
        ],
    },
}
NAMES = ("namespaceObject", "object", "oldObject", "request")


def value(expression: str, *returns: str) -> Any:
    """The value of an expression about POD."""
    compiled = compile_expression(expression, NAMES, returns or ("bool",))
    return compiled.evaluate({"object": POD, "oldObject": None, "request": {"operation": "CREATE"}})


@pytest.mark.parametrize(
    "expression",
    [
        "object.spec.replicas <= 5",
        "object.spec.replicas > 4.5",
        "has(object.spec.paused) == false && !has(object.metadata.annotations)",
        "oldObject == null",
        'request.operation == "CREATE"',
        'object.spec.containers.all(c, c.name.matches("^[a-z]$"))',
        'object.spec.containers.exists_one(c, c.image.startsWith("docker.io/"))',
        'object.spec.containers.map(c, c.name).join("-") == "c-d"',
        "object.?spec.?nope.orValue(3) == 3",
        "cel.bind(n, object.spec.replicas, n * n) == 25",
        '"app" in object.metadata.labels',
        'quantity(object.spec.containers[0].resources.limits.memory).isLessThan(quantity("2Gi"))',
        'quantity("1Gi").add(quantity("1Mi")) == quantity("1025Mi")',
        'quantity("1500m").asApproximateFloat() == 1.5 && !quantity("1500m").isInteger()',
        'quantity("-1").sign() == -1 && quantity("2k").asInteger() == 2000',
        'isQuantity("1Gi") && !isQuantity("1Gx")',
        'quantity("1").compareTo(quantity("1000m")) == 0',
        '"a1b22".findAll("[0-9]+") == ["1", "22"] && "a1".find("[0-9]") == "1" && "a".find("[0-9]") == ""',
        "[1, 2, 2].isSorted() && ![2, 1].isSorted() && [1, 2].sum() == 3 && [3, 1].min() == 1 && [3, 1].max() == 3",
        "[1, 1, 2].distinct() == [1, 2] && [3, 1].sort() == [1, 3] && [[1], [2]].flatten() == [1, 2]",
        "[1, 2, 3].slice(1, 2) == [2] && sets.contains([1, 2], [1]) && sets.intersects([1], [1, 2])",
        "sets.equivalent([1, 2], [2, 1, 1]) && math.greatest(1, 2) == 2",
        'url("https://a.b:8/c?d=e").getHost() == "a.b:8" && url("https://a.b:8/c?d=e").getPort() == "8"',
        'url("https://a.b:8/c?d=e").getQuery()["d"] == ["e"] && url("https://a.b/c").getHostname() == "a.b"',
        'isURL("https://a") && !isURL("a") && url("https://a/b c").getEscapedPath() == "/b%20c"',
        'jsonpatch.escapeKey("a/b~c") == "a~1b~0c"',
        'object.spec.nope == "x" || true',
    ],
)
def test_it_holds(expression: str) -> None:
    assert value(expression) is True


@pytest.mark.parametrize(
    ("expression", "text"),
    [
        ('object.data.nope == "x"', "no such key: data"),
        ("object.spec.containers[7].name == 'c'", "index out of bounds: 7"),
        ("1 / (object.spec.replicas - 5) == 1", "division by zero"),
        ("1 % (object.spec.replicas - 5) == 1", "modulus by zero"),
        ('object.spec.replicas < "x"', "no such overload"),
        ("has(object.data.x)", "no such key: data"),
        (
            'quantity("1Gx").isInteger()',
            "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
        ),
    ],
)
def test_an_expression_without_a_value_says_why_as_upstream_does(expression: str, text: str) -> None:
    with pytest.raises(EvaluationError) as caught:
        value(expression)
    assert str(caught.value) == text


@pytest.mark.parametrize(
    ("expression", "returns", "text"),
    [
        (
            "object.spec ==",
            ("bool",),
            "compilation failed: ERROR: <input>:1:15: Syntax error: mismatched input '<EOF>' expecting",
        ),
        ("foo.bar == 1", ("bool",), "compilation failed: ERROR: <input>:1:1: undeclared reference to 'foo' (in"),
        ("foo == 1", ("bool",), "compilation failed: ERROR: <input>:1:1: undeclared reference to 'foo' (in"),
        (
            '1 + "a" == 2',
            ("bool",),
            "compilation failed: ERROR: <input>:1:3: found no matching overload for '_+_' applied to '(int, string)'",
        ),
        ('"a"', ("bool",), "must evaluate to bool but got string"),
        ("object.spec.paused", ("bool",), "must evaluate to bool but got dyn"),
        ("1", ("string", "null_type"), "must evaluate to one of [string null_type] but got int"),
    ],
)
def test_what_does_not_compile_is_refused_with_upstream_s_text(
    expression: str, returns: tuple[str, ...], text: str
) -> None:
    with pytest.raises(CompileError) as caught:
        compile_expression(expression, NAMES, returns)
    assert str(caught.value).startswith(text)


def test_without_the_library_there_is_one_clear_error(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def without(name: str, *args: Any, **more: Any) -> Any:
        if name.startswith("cel_expr_python"):
            raise ImportError(name)
        return real(name, *args, **more)

    monkeypatch.setattr(builtins, "__import__", without)
    program._library.cache_clear()
    compile_expression.cache_clear()
    try:
        assert not is_available()
        with pytest.raises(CELUnavailableError, match=r'pip install "k8slab\[cel\]"'):
            compile_expression("true", ())
    finally:
        monkeypatch.undo()
        program._library.cache_clear()
    assert is_available()


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("Object{}", {}),
        ('Object{metadata: Object.metadata{labels: {"a": "b"}}}', {"metadata": {"labels": {"a": "b"}}}),
        (
            'Object{spec: Object.spec{containers: [Object.spec.containers{name: "x"}]}}',
            {"spec": {"containers": [{"name": "x"}]}},
        ),
        (
            'Object{spec: Object.spec{a: true ? "x : y" : "z", b: {"k": [1, 2]}}}',
            {"spec": {"a": "x : y", "b": {"k": [1, 2]}}},
        ),
        ("Object{ // a comment with {braces}\n spec: Object . spec{replicas: 1 + 2}}", {"spec": {"replicas": 3}}),
    ],
)
def test_initialisers_become_objects(expression: str, expected: Any) -> None:
    assert fields_of_message(value(expression, "object")) == expected


def test_texts_and_names_that_only_look_like_initialisers_stay() -> None:
    for expression in ("'Object{a: 1}' == object.a", "myObject{}", 'object.Object == "JSONPatch{"'):
        assert rewrite(expression) == expression


def test_a_json_patch_is_a_list_of_messages() -> None:
    expression = '[JSONPatch{op: "add", path: "/a", value: Object.a{b: 1}}]'
    operations = fields_of_message(value(expression, "list"))
    assert operations == [{"op": "add", "path": "/a", "value": {"b": 1}}]


def test_a_message_must_say_where_it_stands() -> None:
    wrong = message("Object", {"spec": message("Object.status", {})})
    assert mismatch(wrong) == (
        'unexpected type name "Object.status", expected "Object.spec", '
        "which matches field name path from root Object type"
    )
    assert mismatch(message("Object", {"spec": [message("Object.spec", {})]})) == ""
