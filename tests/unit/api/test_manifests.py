"""Manifests: YAML as kubectl reads it, and errors that say where. Rules from go-yaml v2's resolve.go and decode.go."""

from typing import Any

import pytest

from k8slab.api.manifests import ManifestError, load_manifests
from k8slab.api.yaml_json import Document, YAMLError, parse_documents

CONFIG_MAP = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s}\n"


def values(text: str) -> list[Any]:
    documents = list(parse_documents(text))
    assert all(isinstance(d, Document) for d in documents), documents
    return [d.value for d in documents if isinstance(d, Document)]


@pytest.mark.parametrize(
    ("scalar", "value"),
    [
        ("yes", True),
        ("On", True),
        ("y", True),
        ("off", False),
        ("N", False),
        ("~", None),
        ("", None),
        ("nUll", "nUll"),
        ("12", 12),
        ("+12", 12),
        ("0x1F", 31),
        ("017", 15),
        ("0o17", 15),
        ("0b101", 5),
        ("09", 9),
        ("1_000", 1000),
        ("3.0", 3),
        ("3.5", 3.5),
        ("1e3", 1000),
        ("1:30", "1:30"),
        ("2026-01-01", "2026-01-01"),
        ("v1.36", "v1.36"),
        ("'yes'", "yes"),
        ("!!str 5", "5"),
        ("18446744073709551615", 18446744073709551615),
    ],
)
def test_plain_scalars_mean_what_kubectl_takes_them_for(scalar: str, value: Any) -> None:
    result = values(f"k: {scalar}")[0]["k"]
    assert result == value and type(result) is type(value)


def test_keys_become_texts() -> None:
    assert values("1: a\nyes: b\n1.5: c") == [{"1": "a", "true": "b", "1.5": "c"}]


def test_merge_keys_yield_to_what_follows_and_override_what_precedes() -> None:
    text = "base: &b {a: 1, c: 3}\np: {a: 0, <<: *b}\nq: {<<: *b, a: 0}\nr: {<<: [*b, {a: 5, d: 4}]}"
    assert values(text)[0] | {"base": None} == {
        "base": None,
        "p": {"a": 1, "c": 3},
        "q": {"a": 0, "c": 3},
        "r": {"a": 1, "c": 3, "d": 4},
    }


@pytest.mark.parametrize(
    ("text", "line", "column", "words"),
    [
        ("a: 1\nb: 2\na: 3", 3, 1, 'key "a" already set in map'),
        ("a: {x: 1, x: 2}", 1, 11, 'key "x" already set in map'),
        ("a: [1, 2\nb: 3", 2, 2, "expected ',' or ']'"),
        ("ok: 1\n---\nb: 'open", 3, 9, "unexpected end of stream"),
        ("\tx: 1", 1, 1, "cannot start any token"),
        ("a: &x [*x]", 1, 4, "contains itself"),
        ("a: .inf", 1, 4, "has no JSON value"),
        ("? [a]\n: b", 1, 3, "a key must be"),
        ("a: *nope", 1, 4, "undefined alias"),
    ],
)
def test_bad_yaml_says_where(text: str, line: int, column: int, words: str) -> None:
    error = next(d for d in parse_documents(text) if isinstance(d, YAMLError))
    assert (error.line, error.column) == (line, column)
    assert words in error.message


def test_alias_bombs_are_refused() -> None:
    lines = ["a: &a [" + ",".join("x" * 9) + "]"]
    for name, before in zip("bcdefghi", "abcdefgh", strict=True):
        lines.append(f"{name}: &{name} [" + ",".join([f"*{before}"] * 9) + "]")
    (error,) = list(parse_documents("\n".join(lines)))
    assert isinstance(error, YAMLError) and "excessive aliasing" in error.message


def test_modest_use_of_aliases_is_fine() -> None:
    text = "d: &d {a: 1}\n" + "".join(f"k{i}: *d\n" for i in range(500))
    assert len(values(text)[0]) == 501


def test_deep_nesting_is_refused() -> None:
    (error,) = list(parse_documents("[" * 300 + "]" * 300))
    assert isinstance(error, YAMLError) and "nested too deeply" in error.message


@pytest.mark.parametrize(
    ("number", "shown"),
    [("NaN", "NaN"), ("Infinity", r"\+Inf"), ("-Infinity", "-Inf"), ("1e999", r"\+Inf")],
)
def test_numbers_that_json_does_not_have_are_refused(number: str, shown: str) -> None:
    text = f'{{"apiVersion": "ex.io/v1", "kind": "Widget",\n "spec": {{"sizes": [1, {number}]}}}}'
    with pytest.raises(ManifestError, match=rf"line 2, column 24: spec.sizes\[1\]: {shown}: expected a finite number"):
        load_manifests(text)


def test_a_kind_that_no_custom_resource_could_have_is_refused() -> None:
    with pytest.raises(ManifestError, match='line 2, column 1: kind: "foo bar": may have mixed case, but should'):
        load_manifests("apiVersion: ex.io/v1\nkind: foo bar\nmetadata: {name: a}")


def test_documents_comments_and_separators_in_texts() -> None:
    text = "# only a comment\n---\n--- # nothing\na: |\n  text\n  ---\n---\n\nb: 1\n"
    assert values(text) == [{"a": "text\n---\n"}, {"b": 1}]


def test_json_is_read_as_json() -> None:
    assert values('{"a":\t"x\\/y"}\n{"b": 2}') == [{"a": "x/y"}, {"b": 2}]
    (error,) = list(parse_documents('{"a": 1,\n "a": 2}'))
    assert isinstance(error, YAMLError) and (error.line, error.message) == (2, 'key "a" already set in map')


def fails(text: str | bytes) -> ManifestError:
    with pytest.raises(ManifestError) as caught:
        load_manifests(text, "f.yaml")
    return caught.value


def test_a_wrong_type_names_file_document_line_field_value_and_expectation() -> None:
    text = (
        CONFIG_MAP % "a" + "---\napiVersion: apps/v1\nkind: Deployment\nmetadata: {name: d}\nspec:\n  replicas: '3'\n"
    )
    error = fails(text)
    assert (error.source, error.document, error.line, error.column) == ("f.yaml", 2, 9, 3)
    assert (error.field, error.value, error.expected) == ("spec.replicas", "3", "a 32-bit integer")
    assert str(error) == 'f.yaml, document 2, line 9, column 3: spec.replicas: "3": expected a 32-bit integer'


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("hello", "expected an object with apiVersion"),
        ("kind: Pod", "apiVersion: null: expected a text, such as apps/v1"),
        ("apiVersion: v1", "kind: null: expected a text, such as Deployment"),
        ("apiVersion: a/b/c\nkind: X", "expected group/version"),
        ("apiVersion: extensions/v1beta1\nkind: Deployment", "this kind is served in apps/v1"),
        ("apiVersion: apps/v1\nkind: Deploymen", "kinds served there: ControllerRevision"),
        (
            "apiVersion: v1\nkind: Pod\nmetadata: {name: x}\nspec: {containers: {}}",
            "spec.containers: {}: expected a list",
        ),
        (CONFIG_MAP % "y", "metadata.name: true: expected a string"),
        ("apiVersion: ex.io/v1\nkind: W\nmetadata: {name: 1}", "metadata.name: 1: expected a string"),
        ("apiVersion: ex.io/v1\nkind: W\nmetadata: {labels: {a: 1}}", "metadata.labels.a: 1: expected a string"),
        ("apiVersion: v1\nkind: List\nitems: {}", "items: {}: expected a list"),
        (b"\xff\xfe", "not UTF-8"),
        ("a: \x00", "#x0000"),
    ],
)
def test_bad_manifests(text: str | bytes, words: str) -> None:
    assert words in str(fails(text))


def test_lists_are_flattened_and_foreign_kinds_accepted() -> None:
    text = (
        "apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: ConfigMap\n  metadata: {name: a}\n"
        "- apiVersion: ex.io/v1\n  kind: Widget\n  metadata: {name: w}\n  spec: {size: 1}\n"
    )
    first, second = load_manifests(text)
    assert (first.object["metadata"]["name"], first.line, first.is_builtin) == ("a", 4, True)
    assert (second.object["spec"], second.line, second.is_builtin) == ({"size": 1}, 7, False)
    assert second.locate("spec", "size") == (10, 10)


def test_unknown_fields_are_warnings_and_large_numbers_pass() -> None:
    text = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: d}\nspec: {replicas: 1000000000, replicsa: 2}\n"
    (manifest,) = load_manifests(text)
    assert manifest.warnings == ('unknown field "spec.replicsa"',)
    assert manifest.object["spec"]["replicas"] == 10**9


def test_on_error_goes_on_with_the_next_document() -> None:
    errors: list[ManifestError] = []
    text = CONFIG_MAP % "a" + "---\na: b\na: c\n---\n" + CONFIG_MAP % "b"
    manifests = load_manifests(text, on_error=errors.append)
    assert [m.object["metadata"]["name"] for m in manifests] == ["a", "b"]
    assert [(e.document, e.line) for e in errors] == [(2, 6)]


def test_nothing_gives_nothing() -> None:
    assert load_manifests("") == load_manifests("---\n# comment\n---\n") == []


def test_metadata_of_a_foreign_kind_is_checked_as_of_any() -> None:
    text = "apiVersion: example.org/v1\nkind: Widget\nmetadata: {name: a, finalizers: -1}\n"
    with pytest.raises(ManifestError, match=r"line 3, column 21: metadata\.finalizers: -1: expected a list"):
        load_manifests(text)


def test_half_of_a_surrogate_pair_in_json_is_the_replacement_character() -> None:
    """As Go's encoding/json reads it; a whole pair is one character."""
    (document,) = parse_documents('{"half": ["\\ud800"], "whole": "\\ud83d\\ude00"}')
    assert isinstance(document, Document)
    assert document.value == {"half": ["\ufffd"], "whole": "\U0001f600"}
