"""The Common Expression Language: match conditions of webhooks, and admission policies.

>>> scaled = compile_expression("object.spec.replicas <= 5", ("object",))
>>> scaled.evaluate({"object": {"spec": {"replicas": 7}}})
False
>>> scaled.evaluate({"object": {"spec": {}}})
Traceback (most recent call last):
  ...
k8slab.api.cel.program.EvaluationError: no such key: replicas
>>> compile_expression("object.spec.replicas", ("object",))
Traceback (most recent call last):
  ...
k8slab.api.cel.program.CompileError: must evaluate to bool but got dyn

Expressions are parsed, checked and evaluated by the library `cel-expr-python`, Google's own implementation (an extra:
`pip install "k8slab[cel]"`). Here is what Kubernetes adds to the language (functions, `Object{}`), and its error texts.

The caller's duties: hand over thawed objects; take `CELUnavailableError` for what it is, a missing library.

Spec: github.com/google/cel-spec
Upstream: apiserver/pkg/cel (environment, library), apiserver/pkg/admission/plugin/cel
Simplified: expressions cost nothing and are never cut short; every variable but a few of `request` has the type dyn; of
Kubernetes' function libraries those for authorizer, IP addresses, CIDRs, semantic versions and formats are left out,
and of lists `indexOf`, `lastIndexOf`; optional field selection with `Object{?field: ...}` is not known.
"""

from k8slab.api.cel.composition import ANY, Composition, Evaluation, Scope, evaluate, undefined
from k8slab.api.cel.initialisers import fields_of_message, mismatch, type_of_message
from k8slab.api.cel.program import (
    CELUnavailableError,
    CompileError,
    EvaluationError,
    Program,
    compile_expression,
    is_available,
)

__all__ = [
    "ANY",
    "CELUnavailableError",
    "CompileError",
    "Composition",
    "Evaluation",
    "EvaluationError",
    "Program",
    "Scope",
    "compile_expression",
    "evaluate",
    "fields_of_message",
    "is_available",
    "mismatch",
    "type_of_message",
    "undefined",
]
