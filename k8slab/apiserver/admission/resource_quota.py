"""No namespace uses more than its ResourceQuotas allow: what a write costs is added to their status before it is done.

Requests in one namespace are judged in batches by one of them (upstream: by a worker): each sees what those before it
were granted, and one update of the quota's status charges for all of them. That update is optimistic. When another API
server or the quota controller wrote first, it is a conflict: everything is judged again on the newer quota, three times
at most, then the requests fail with 409. A request that fails after it was charged (its name was taken, etcd said no)
leaves `used` too high until the quota controller counts anew.

Upstream: apiserver/pkg/admission/plugin/resourcequota/{admission,controller,resource_access}.go
Simplified: only the watch cache is asked for quotas, not etcd when it holds none.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from typing import Any, NamedTuple

from k8slab.api.errors import InternalError, StatusError
from k8slab.api.objects import Frozen, Object
from k8slab.api.pod_requests import ResourceList, resource_list
from k8slab.api.quota import (
    IGNORED,
    Evaluator,
    add,
    equal,
    evaluator_of,
    exceeded,
    mask,
    matches,
    negative,
    printed,
    scope_selectors,
    subtract_non_negative,
    texts,
    without_zeros,
)
from k8slab.apiserver.admission.attributes import Attributes, Lister, forbidden, internal
from k8slab.sim import Wait, Waiters, pause

__all__ = ["LimitedResource", "ResourceQuota", "check_request"]

QUOTAS = "resourcequotas"
RETRIES = 3
TIMEOUT_MS = 10_000


class LimitedResource(NamedTuple):
    """What may only be consumed under a quota that covers it (the plugin's configuration file). `resource`: as in
    "pods"; `match_contains`: parts of names of what is consumed; `match_scopes`: scopes as in a scopeSelector."""

    resource: str
    match_contains: Sequence[str] = ()
    match_scopes: Sequence[Object] = ()


class _Waiter:
    """A request that waits for its verdict. `error` None when `done`: granted."""

    __slots__ = ("attributes", "done", "error")

    def __init__(self, attributes: Attributes) -> None:
        self.attributes = attributes
        self.done = False
        self.error: StatusError | None = None

    def settle(self, error: StatusError | None) -> None:
        self.done, self.error = True, error


class ResourceQuota:
    """`limited`: see `LimitedResource`."""

    name = "ResourceQuota"

    def __init__(self, limited: Sequence[LimitedResource] = ()) -> None:
        self._limited = tuple(limited)
        self._work: dict[str, list[_Waiter]] = {}
        self._busy: dict[str, Waiters] = {}  # namespaces that somebody judges, and who waits for it
        self._written: dict[str, Frozen] = {}  # quotas as we wrote them: the watch cache may be behind

    async def validate(self, attributes: Attributes, lister: Lister) -> None:
        """403 when a quota would be exceeded. What is granted is charged before this returns."""
        resource, namespace = attributes.resource.group_resource, attributes.namespace
        if not namespace or resource in IGNORED or attributes.operation == "DELETE":
            return
        if not evaluator_of(resource).handles(
            attributes.operation, attributes.subresource, attributes.object, attributes.old
        ):
            return
        if not self._limited and namespace not in self._busy and not self._quotas(namespace, lister):
            return
        waiter = _Waiter(attributes)
        self._work.setdefault(namespace, []).append(waiter)
        deadline = lister.loop.clock.now_ms + TIMEOUT_MS
        while not waiter.done and namespace in self._busy:
            rest = deadline - lister.loop.clock.now_ms
            if rest <= 0:
                raise internal("resource quota evaluation timed out")
            await pause(Wait((self._busy[namespace],), rest))
        if not waiter.done:
            await self._judge(namespace, lister)
        if waiter.error is not None:
            raise waiter.error

    def check_invariants(self) -> None:
        """AssertionError naming what is broken."""
        for namespace, waiting in self._work.items():
            assert waiting, f"an empty batch in {namespace}"
            assert not any(waiter.done for waiter in waiting), f"somebody in {namespace} waits with a verdict"

    async def _judge(self, namespace: str, lister: Lister) -> None:
        """Everything that waits in a namespace."""
        batch = self._work.pop(namespace)
        woken = self._busy[namespace] = Waiters(lister.loop)
        try:
            await self._check(self._quotas(namespace, lister), batch, lister, RETRIES)
        finally:
            for waiter in batch:
                if not waiter.done:  # judging broke off: upstream's waiters begin with this verdict
                    waiter.settle(InternalError("DEFAULT DENY", reason=""))
            del self._busy[namespace]
            woken.wake()

    async def _check(self, quotas: list[Object], batch: list[_Waiter], lister: Lister, retries: int) -> None:
        """Judge a batch against quotas, charge them; again with those that somebody else changed meanwhile."""
        running = quotas
        for waiter in batch:
            if waiter.done:
                continue
            try:
                after = check_request(running, waiter.attributes, self._limited)
            except StatusError as error:
                waiter.settle(error)
                continue
            if waiter.attributes.dry_run or all(_same_used(a, b) for a, b in zip(running, after, strict=True)):
                waiter.settle(None)
            if not waiter.attributes.dry_run:
                running = after
        failed, last = await self._charge(quotas, running, lister)
        if failed and retries:
            newer = [q for q in self._quotas(_namespace(quotas[0]), lister) if q["metadata"]["name"] in failed]
            await self._check(newer, batch, lister, retries - 1)
            return
        for waiter in batch:
            if not waiter.done:
                waiter.settle(copy(last))  # each request's answer is its own

    async def _charge(
        self, quotas: list[Object], running: list[Object], lister: Lister
    ) -> tuple[list[str], StatusError | None]:
        """Write what changed. (names of quotas that could not be written, why the last one could not)."""
        failed: list[str] = []
        last: StatusError | None = None
        for before, after in zip(quotas, running, strict=True):
            if _same_used(before, after):
                continue
            metadata = after["metadata"]
            try:
                self._written[_key(after)] = await lister.replace_status(QUOTAS, after)
            except StatusError as error:
                failed.append(metadata["name"])
                last = error
        return failed, last

    def _quotas(self, namespace: str, lister: Lister) -> list[Object]:
        found: list[Object] = []
        for cached in lister.cached_all(QUOTAS):
            if cached["metadata"].get("namespace") != namespace:
                continue
            written = self._written.get(_key(cached))
            if written is not None and _revision(written) > _revision(cached):
                found.append(written)
            else:
                self._written.pop(_key(cached), None)
                found.append(cached)
        return found


def check_request(
    quotas: list[Object], attributes: Attributes, limited: Sequence[LimitedResource] = ()
) -> list[Object]:
    """The quotas as they would be after the write; those it does not concern are the same objects.

    Raises ForbiddenError when one would be exceeded, or the object lacks what it has to name under one.
    """
    resource, obj = attributes.resource.group_resource, attributes.object
    evaluator = evaluator_of(resource)
    if obj is None or not evaluator.handles(attributes.operation, attributes.subresource, obj, attributes.old):
        return quotas
    try:  # in upstream too the scopes of all limited resources are looked at, whatever resource this is
        wanted = [scope for one in limited for scope in one.match_scopes if evaluator.matches_scope(scope, obj)]
    except ValueError:
        return quotas
    now_ms = attributes.context.env.clock.now_ms
    interesting, covered, scopes = _interesting(quotas, evaluator, attributes, obj)
    usage = evaluator.usage(obj, now_ms)
    below = negative(usage)
    if below:
        raise forbidden(attributes, f"quota usage is negative for resource(s): {','.join(sorted(below))}")
    delta = _deltas(quotas, interesting, evaluator, attributes, usage, now_ms)
    if not any(delta.values()):
        return quotas
    _check_limited(attributes, usage, covered, limited)
    missing = [scope for scope in wanted if scope["scopeName"] not in scopes]
    if missing:
        shown = " ".join(map(_shown, missing))
        raise InternalError(f"insufficient quota to match these scopes: [{shown}]", reason="")
    return [
        _charged(quota, delta[i], attributes) if i in delta and delta[i] and i in interesting else quota
        for i, quota in enumerate(quotas)
    ]


def _interesting(
    quotas: list[Object], evaluator: Evaluator, attributes: Attributes, obj: Object
) -> tuple[list[int], set[str], set[str]]:
    """(which quotas are about this object, the names of what they limit, the scopes of any quota that it is in)."""
    found: list[int] = []
    covered: set[str] = set()
    scopes: set[str] = set()
    for i, quota in enumerate(quotas):
        name, hard = quota["metadata"]["name"], _part(quota, "hard")
        for scope in scope_selectors(quota):
            try:
                if evaluator.matches_scope(scope, obj):
                    scopes.add(scope["scopeName"])
            except ValueError as error:
                why = f"error on matching scope {_shown(scope)}: {error}"
                raise InternalError(f"error matching scopes of quota {name}, err: {why}", reason="") from None
        if not matches(evaluator, quota, obj):
            continue
        restricted = evaluator.matching_resources(hard)
        missing = evaluator.constraints(restricted, obj)
        if missing:
            raise forbidden(attributes, f"failed quota: {name}: {missing}")
        used = _part(quota, "used")
        if any(resource not in used for resource in restricted):
            names = ",".join(sorted(restricted))
            raise forbidden(attributes, f"status unknown for quota: {name}, resources: {names}")
        found.append(i)
        covered.update(restricted)
    return found, covered, scopes


def _shown(scope: Object) -> str:
    """As Go prints the struct."""
    return f"{{{scope['scopeName']} {scope.get('operator', '')} [{' '.join(scope.get('values') or ())}]}}"


def _deltas(
    quotas: list[Object],
    interesting: list[int],
    evaluator: Evaluator,
    attributes: Attributes,
    usage: ResourceList,
    now_ms: int,
) -> dict[int, ResourceList]:
    """What the write adds, by quota; under -1 what it adds where no quota is about it. Without zeros."""
    deltas = dict.fromkeys(interesting, usage) if interesting else {-1: usage}
    old = attributes.old
    if attributes.operation == "UPDATE":
        if old is None:
            raise forbidden(attributes, "unable to get previous usage since prior version of object was not found")
        change = subtract_non_negative(usage, evaluator.usage(old, now_ms))
        for i in deltas:
            if i < 0 or matches(evaluator, quotas[i], old):
                deltas[i] = change
    return {i: without_zeros(delta) for i, delta in deltas.items()}


def _check_limited(
    attributes: Attributes, usage: ResourceList, covered: set[str], limited: Sequence[LimitedResource]
) -> None:
    """What may only be consumed under a quota needs one."""
    names = {
        name
        for one in limited
        for name, amount in usage.items()
        if one.resource == attributes.resource.group_resource
        and amount.sign > 0
        and any(part in name for part in one.match_contains)
    }
    if names - covered:
        raise forbidden(attributes, f"insufficient quota to consume: {','.join(sorted(names - covered))}")


def _charged(quota: Object, delta: ResourceList, attributes: Attributes) -> Object:
    hard, used = resource_list(_part(quota, "hard")), resource_list(_part(quota, "used"))
    requested = mask(delta, hard)
    total = add(used, requested)
    if attributes.subresource != "status":
        over = exceeded(mask(total, requested), hard)
        if over:
            raise forbidden(
                attributes,
                f"exceeded quota: {quota['metadata']['name']}, requested: {printed(mask(requested, over))}, "
                f"used: {printed(mask(used, over))}, limited: {printed(mask(hard, over))}",
            )
    return {**quota, "status": {**(quota.get("status") or {}), "used": texts(total)}}


def _part(quota: Object, part: str) -> Mapping[str, Any]:
    return (quota.get("status") or {}).get(part) or {}


def _same_used(a: Object, b: Object) -> bool:
    return a is b or equal(resource_list(_part(a, "used")), resource_list(_part(b, "used")))


def _namespace(quota: Object) -> str:
    return str(quota["metadata"].get("namespace") or "")


def _key(quota: Object) -> str:
    return f"{_namespace(quota)}/{quota['metadata']['name']}"


def _revision(quota: Object) -> int:
    return int(quota["metadata"].get("resourceVersion") or 0)
