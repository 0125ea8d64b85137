"""Admission webhooks: HTTP servers that change a write, or refuse it.

>>> from k8slab.apiserver.admission.webhook.accessors import hooks_of
>>> late = {"metadata": {"name": "b"}, "webhooks": [{"name": "b1.example.com"}]}
>>> early = {"metadata": {"name": "a"}, "webhooks": [{"name": "a2.example.com"}, {"name": "a1.example.com"}]}
>>> [hook.uid for hook in hooks_of([late, early])]
['a/a2.example.com/0', 'a/a1.example.com/0', 'b/b1.example.com/0']

Mutating webhooks are asked one after the other, in the order of their configurations' names; each sees what the one
before made of the object. Those with reinvocationPolicy IfNeeded are asked a second time, once, when the object changed
after them. Validating webhooks are asked all at once, after validation, and may only refuse.

The caller's duties: an `HTTPCaller` that reaches them, and tasks that end with the server (`Outside`).

Simplified: no TLS; no metrics; configurations from files; the request's own limit of 34 s is not kept.
"""

from k8slab.apiserver.admission.webhook import kinds
from k8slab.apiserver.admission.webhook.accessors import Hook, hooks_of
from k8slab.apiserver.admission.webhook.mutating import MutatingAdmissionWebhook
from k8slab.apiserver.admission.webhook.outside import Outside
from k8slab.apiserver.admission.webhook.validating import ValidatingAdmissionWebhook

__all__ = ["Hook", "MutatingAdmissionWebhook", "Outside", "ValidatingAdmissionWebhook", "hooks_of", "kinds"]
