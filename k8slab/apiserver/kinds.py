"""How the API server's and etcd's trace events look and read.

Writes of interest are the main story (`write`); reads, status writes, events and what the server and etcd make of a
request are details. Leases have a kind of their own, which a trace leaves out by default.
"""

from __future__ import annotations

from functools import lru_cache

from k8slab.sim import Kind, add_kinds

__all__ = ["DEEDS", "deed", "speaker"]

_CALL = ("who", "does", "verb", "resource", "what", "key", "subresource", "detail")
_ANSWER = ("resource", "key", "verb", "code", "reason", "message")

add_kinds(
    {
        "write": Kind("write", 1, _CALL, "{does} {key}", "{who} {does} {what} {key}{detail}"),
        "write.detail": Kind("write", 2, _CALL, "{does} {key}", "{who} {does} {what} {key}{detail}"),
        "lease.renew": Kind("write", 2, _CALL, "renews {key}", "{who} {does} {what} {key}{detail}"),
        "request": Kind("request", 2, _CALL, "{verb} {resource}", "{who} {does} {what} {key}{detail}"),
        "serve": Kind(
            "serve",
            2,
            ("verb", "resource", "part", "key", "expected"),
            "serves {verb}",
            "the API server serves {verb} {resource}{part} {key}",
        ),
        "admission": Kind(
            "serve",
            2,
            ("plugin", "phase", "changed", "resource", "key", "diff"),
            "{plugin}: {changed}",
            "admission plugin {plugin} ({phase}) changes {changed} {changed:field|fields} of {resource} {key}",
        ),
        "service.repair": Kind(
            "wait",
            1,
            ("resource", "key", "why"),
            "{key}: not its own",
            "the API server finds what Service {key} cannot have: {why}",
        ),
        "service.repair.failed": Kind(
            "wait", 2, ("why",), "Event refused", "the API server cannot record its finding about a Service: {why}"
        ),
        "admission.stage": Kind(
            "serve",
            2,
            ("stage", "phase", "changed", "resource", "key", "diff"),
            "{stage}: {changed}",
            "stage {stage} ({phase}) changes {changed} {changed:field|fields} of {resource} {key}",
        ),
        "admission.refused": Kind(
            "wait",
            2,
            ("plugin", "phase", "resource", "key", "code", "why"),
            "{plugin}: {code}",
            "admission plugin {plugin} ({phase}) refuses {resource} {key} with {code}",
        ),
        "admission.audit": Kind(
            "serve",
            2,
            ("key", "annotation", "value"),
            "audit: {annotation}",
            "the audit event of {key} gets {annotation}",
        ),
        "response.error": Kind(
            "wait", 2, _ANSWER, "{code} {reason}", "the answer to {verb} {resource} {key} is {code} {reason}: {message}"
        ),
        "response.lost": Kind(
            "wait",
            2,
            ("resource", "key", "verb", "where"),
            "no answer",
            "{verb} {resource} {key} gets no answer, the {where} is lost: nobody knows whether it happened",
        ),
        "etcd.commit": Kind(
            "commit",
            2,
            ("resource", "key", "revision", "op", "base"),
            "rev {revision}",
            "etcd commits revision {revision}: {op} {resource} {key}",
        ),
        "etcd.compact": Kind(
            "commit", 2, ("revision",), "compact {revision}", "etcd forgets what is older than {revision}"
        ),
        "etcd.compact.failed": Kind("wait", 2, ("why",), "cannot compact", "the API server cannot compact: {why}"),
        "bootstrap.failed": Kind(
            "wait", 2, ("key", "why"), "cannot write {key}", "the API server cannot write {key}: {why}"
        ),
        "watch.open": Kind(
            "watch",
            2,
            ("resource", "client", "since", "selector"),
            "watch {resource}",
            "{client} watches {resource} since {since}{selector}",
        ),
        "watch.close": Kind(
            "watch",
            2,
            ("resource", "client", "why"),
            "watch closed",
            "the watch of {client} on {resource} ends: {why}",
        ),
        "watch.event": Kind(
            "watch",
            2,
            ("type", "resource", "key", "revision", "stream"),
            "{type} {key}",
            "a watch delivers {type} {resource} {key} of revision {revision}",
        ),
    }
)

DEEDS = {
    "create": "creates",
    "update": "updates",
    "patch": "patches",
    "delete": "deletes",
    "deletecollection": "deletes all",
    "get": "gets",
    "list": "lists",
    "watch": "watches",
}

_SUBRESOURCE_DEEDS = {"binding": "binds", "eviction": "evicts"}

_CONTROLLERS = {
    "deployment": "the Deployment controller",
    "replicaset": "the ReplicaSet controller",
    "statefulset": "the StatefulSet controller",
    "daemonset": "the DaemonSet controller",
    "job": "the Job controller",
    "cronjob": "the CronJob controller",
    "garbage-collector": "the garbage collector",
    "endpointslice": "the EndpointSlice controller",
    "node-lifecycle": "the node lifecycle controller",
    "taint-eviction": "the taint eviction controller",
    "namespace": "the namespace controller",
    "serviceaccount": "the ServiceAccount controller",
    "resourcequota": "the ResourceQuota controller",
    "root-ca": "the root CA publisher",
    "ttl": "the node TTL controller",
    "informers": "an informer of the controller manager",
}


@lru_cache(maxsize=2048)
def speaker(lane: str) -> str:
    """A lane as a sentence names it: `kcm/replicaset` is "the ReplicaSet controller"."""
    component, _, rest = lane.partition("/")
    if component == "kcm":
        name = rest.partition("/")[0]
        return _CONTROLLERS.get(name, f"the {name} controller" if name else "the controller manager")
    if component == "kubelet":
        return f"the kubelet on {rest.partition('/')[0]}" if rest else "a kubelet"
    if component == "scheduler":
        return "the scheduler"
    return component or lane


@lru_cache(maxsize=2048)
def deed(lane: str, verb: str, subresource: str) -> str:
    """What somebody does, as a verb in the present tense that fits who does it."""
    done = _SUBRESOURCE_DEEDS.get(subresource) or DEEDS[verb]
    words = done.split(" ")
    if lane == "you":
        words[0] = words[0].removesuffix("es") if words[0].endswith("ches") else words[0].removesuffix("s")
    done = " ".join(words)
    return done if not subresource or subresource in _SUBRESOURCE_DEEDS else f"{done} {subresource} of"
