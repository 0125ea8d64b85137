"""Admission policies: rules in CEL that the API server evaluates itself, without calling anybody.

>>> from k8slab.apiserver.admission.policy.hooks import policies_with_bindings
>>> policy, binding = {"metadata": {"name": "few"}}, {"metadata": {"name": "b"}, "spec": {"policyName": "few"}}
>>> lonely = {"metadata": {"name": "unbound"}}
>>> [(hook.name, len(hook.bindings)) for hook in policies_with_bindings([policy, lonely], [binding])]
[('few', 1)]

A policy says what must hold (validations) or what to change (mutations), a binding where it applies, with which
parameters, and what follows from a violation: Deny, Warn, Audit. A policy without a binding does nothing.

Expressions need the library of `k8slab.api.cel`. Without it a policy cannot be stored, and the rest works.

Simplified: no authorizer in expressions, no costs, no type checking against schemas (`status.typeChecking` stays
empty), no policies from files; policies and bindings are taken in the order of their names, where upstream has none.
"""

from k8slab.apiserver.admission.policy import kinds
from k8slab.apiserver.admission.policy.hooks import PolicyHook, policies_with_bindings
from k8slab.apiserver.admission.policy.mutating import MutatingAdmissionPolicy
from k8slab.apiserver.admission.policy.validating import ValidatingAdmissionPolicy

__all__ = [
    "MutatingAdmissionPolicy",
    "PolicyHook",
    "ValidatingAdmissionPolicy",
    "kinds",
    "policies_with_bindings",
]
