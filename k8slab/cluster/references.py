"""Names as people type them: `pod/web-0`, `deploy/web`, `pods`, and which resource they mean.

Upstream: staging/src/k8s.io/cli-runtime/pkg/resource (the form), kubectl get
"""

from __future__ import annotations

from typing import NamedTuple

from k8slab.api.scheme import SCHEME, ResourceInfo, Scheme

__all__ = ["Reference", "parse_reference"]


class Reference(NamedTuple):
    """One object: `info` says which resource; `key` is `namespace/name`, or `name`."""

    info: ResourceInfo
    namespace: str
    name: str

    @property
    def key(self) -> str:
        return f"{self.namespace}/{self.name}" if self.namespace else self.name

    def __str__(self) -> str:
        return f"{self.info.gvr.group_resource}/{self.key}"


def parse_reference(text: str, namespace: str = "default", scheme: Scheme = SCHEME) -> Reference:
    """`pod/web-0`, or `pod/prod/web-0` in another namespace than `namespace`. ValueError names what is wrong."""
    if not isinstance(text, str):
        raise TypeError(f"reference: {text!r}: expected a text such as pod/web-0")
    parts = text.split("/")
    if len(parts) not in (2, 3) or not all(parts):
        raise ValueError(f"reference {text!r}: expected TYPE/NAME or TYPE/NAMESPACE/NAME, such as pod/web-0")
    info = scheme.find(parts[0])
    if len(parts) == 3:
        namespace = parts[1]
    return Reference(info, namespace if info.namespaced else "", parts[-1])
