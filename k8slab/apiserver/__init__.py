"""The API server: objects in etcd, changed by the rules of their kind, listed and watched from a cache.

>>> from k8slab.apiserver import APIServer
>>> from k8slab.api.scheme import CONFIGMAPS
>>> from k8slab.api.transport import Request
>>> from k8slab.etcd import Store
>>> from k8slab.sim import Loop
>>> loop = Loop(seed=7)
>>> you = APIServer(loop, Store()).transport("you")
>>> settings = {"metadata": {"name": "settings"}, "data": {"colour": "blue"}}
>>> create = Request("create", CONFIGMAPS, namespace="default", body=settings)
>>> task = loop.spawn("you", you.call(create), delay_ms=10)
>>> _ = loop.run(until_idle=True)
>>> task.result["metadata"]["namespace"], task.result["data"], task.result["metadata"]["resourceVersion"]
('default', {'colour': 'blue'}, '9')

A request passes routing and codecs (`handle`, for HTTP), then in both ways the verbs, mutating admission, the
strategy of its resource, validation, validating admission, and one conditional transaction in etcd. The watch cache
follows etcd; lists and watches are served from it.

The caller's duties: run the loop; take a `transport` for each client, named after its component; register the kinds
of foreign groups before they are used; read objects that come back, or `thaw` them.

Simplified: no authentication and authorization; managedFields are not tracked; no server-side apply; custom resources
have no schema.
"""

from k8slab.apiserver import kinds
from k8slab.apiserver.admission import REGISTRY as ADMISSION_PLUGINS
from k8slab.apiserver.handlers.http import Frames, Response
from k8slab.apiserver.passage import Passage
from k8slab.apiserver.server import APIServer, Network
from k8slab.apiserver.storage import KV, Members, SingleMember
from k8slab.apiserver.streams import EventStream
from k8slab.apiserver.transport import InProcessTransport
from k8slab.apiserver.watchcache import CacheWatch, WatchCache

__all__ = [
    "ADMISSION_PLUGINS",
    "KV",
    "APIServer",
    "CacheWatch",
    "EventStream",
    "Frames",
    "InProcessTransport",
    "Members",
    "Network",
    "Passage",
    "Response",
    "SingleMember",
    "WatchCache",
    "kinds",
]
