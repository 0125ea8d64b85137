"""From an HTTP request to the registry and back: routing, media types, bodies, options, verbs, lists and watches.

>>> from k8slab.api.scheme import SCHEME
>>> from k8slab.apiserver.handlers import output_type, route
>>> route("DELETE", "/apis/apps/v1/namespaces/default/deployments", {}, SCHEME).verb
'deletecollection'
>>> output_type("application/json;as=Table;v=v1;g=meta.k8s.io,application/json").as_kind
'Table'

Simplified: JSON and YAML only; no OpenAPI documents, no server-side apply.
"""

from k8slab.apiserver.handlers.negotiation import Output, input_type, output_type, patch_type
from k8slab.apiserver.handlers.options import ListOptions
from k8slab.apiserver.handlers.routing import NoSuchPathError, Route, route

__all__ = ["ListOptions", "NoSuchPathError", "Output", "Route", "input_type", "output_type", "patch_type", "route"]
