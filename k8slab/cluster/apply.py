"""Applying manifests, as `kubectl apply` does: create what is missing, patch what differs from last time.

Everything is checked before anything is written: the manifests against their schema, then (several objects) each
against the server with a dry run. For what needs a Namespace, ServiceAccount or PriorityClass that comes with it, a
copy without these needs is asked about. What only shows when the objects meet is tried out beside the cluster
(`rehearsal`). Only then are they sent.

Upstream: staging/src/k8s.io/kubectl/pkg/cmd/apply (client-side apply), pkg/util/apply (last-applied annotation)
Simplified: no --prune, no server-side apply; no retry of a conflicting patch (the server retries).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, NamedTuple

from k8slab.api.errors import AlreadyExistsError, ForbiddenError, NotFoundError, StatusError
from k8slab.api.manifests import Manifest, ManifestError
from k8slab.api.objects import Object, thaw
from k8slab.api.patch import create_three_way_merge_patch, create_three_way_strategic_patch
from k8slab.api.scheme import NAMESPACES, SCHEME, ResourceInfo, Scheme, gvk_of
from k8slab.api.transport import MERGE_PATCH, STRATEGIC_MERGE_PATCH
from k8slab.client import Client
from k8slab.cluster.readiness import not_acted_on
from k8slab.cluster.references import Reference
from k8slab.sim import Trace, sleep

__all__ = [
    "LAST_APPLIED",
    "MAX_REPLICAS",
    "Applied",
    "ApplyError",
    "ApplyResult",
    "Target",
    "apply_manifests",
    "apply_one",
    "check_limits",
    "place_of",
    "references",
]

LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
MAX_REPLICAS = 20_000
"""More replicas than this would only fill memory: the simulation refuses them."""

_ACCOUNT_TRIES, _ACCOUNT_MS = 100, 100
"""How often, and how long apart, a Pod is sent again while its new namespace has no ServiceAccount yet."""

_FIRST = {"Namespace": 0, "CustomResourceDefinition": 1, "PriorityClass": 2, "ServiceAccount": 3}


class Applied(NamedTuple):
    """One object that was applied. `what`: created, configured or unchanged. `note`: what is not done with it."""

    info: ResourceInfo
    namespace: str
    name: str
    what: str
    note: str = ""

    @property
    def reference(self) -> str:
        """`deployment.apps/web`, as kubectl prints it."""
        group = self.info.gvr.group
        return f"{self.info.singular}{'.' + group if group else ''}/{self.name}"

    @property
    def key(self) -> str:
        """`deployments.apps/default/web`: unique in a cluster."""
        return f"{self.info.gvr.group_resource}/{self.namespace + '/' if self.namespace else ''}{self.name}"

    def __str__(self) -> str:
        return f"{self.reference} {self.what}{f'  ({self.note})' if self.note else ''}"


@dataclass(frozen=True)
class ApplyResult:
    """What `apply` did, in the order it did it; `errors`: what it could not (with `keep_going`)."""

    applied: tuple[Applied, ...]
    errors: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()

    def __iter__(self) -> Any:
        return iter(self.applied)

    def __len__(self) -> int:
        return len(self.applied)

    def __str__(self) -> str:
        return "\n".join([*map(str, self.applied), *(f"warning: {w}" for w in self.warnings), *self.errors])

    def __repr__(self) -> str:
        return str(self)


class ApplyError(ValueError):
    """Manifests that were refused. `problems`: one text each; `applied`: what had been written before (usually
    nothing, since everything is checked first)."""

    def __init__(self, problems: Sequence[str], applied: Sequence[Applied] = ()) -> None:
        self.problems = tuple(problems)
        self.applied = tuple(applied)
        text = "\n".join(self.problems)
        if applied:
            text += "\napplied before that: " + ", ".join(a.reference for a in applied)
        super().__init__(text)


def check_limits(manifest: Manifest) -> None:
    """ManifestError when a manifest asks for more than the simulation holds."""
    spec = manifest.object.get("spec")
    replicas = spec.get("replicas") if isinstance(spec, dict) else None
    if isinstance(replicas, int) and replicas > MAX_REPLICAS:
        wanted = f"at most {MAX_REPLICAS} replicas (this simulation's limit)"
        raise _problem(manifest, "spec.replicas", replicas, wanted)


def _problem(manifest: Manifest, field: str, value: Any, expected: str) -> ManifestError:
    line, column = manifest.locate(*field.split("."))
    return ManifestError(
        "", source=manifest.source, document=manifest.document, line=line, column=column,
        field=field, value=value, expected=expected,
    )  # fmt: skip


def place_of(manifest: Manifest) -> str:
    """Where a manifest stands, and what it is, for messages."""
    metadata = manifest.object.get("metadata") or {}
    return f"{manifest.source}, document {manifest.document}: {manifest.object.get('kind')} {metadata.get('name')}"


def in_order(manifests: Iterable[Manifest]) -> list[Manifest]:
    """Namespaces and what else others need first; otherwise as they came."""
    return sorted(manifests, key=lambda m: _FIRST.get(m.object.get("kind", ""), 9))


class Target(NamedTuple):
    """A manifest, and where its object belongs."""

    manifest: Manifest
    info: ResourceInfo
    namespace: str
    name: str
    object: dict[str, Any]

    @property
    def key(self) -> tuple[str, str, str]:
        """Equal for manifests of the same object."""
        return self.info.gvr.group_resource, self.namespace, self.name


async def apply_manifests(
    client: Client,
    scheme: Scheme,
    manifests: Sequence[Manifest],
    *,
    namespace: str = "default",
    keep_going: bool = False,
    trace: Trace | None = None,
    rehearse: Callable[[Sequence[Target]], list[tuple[Target, StatusError]]] | None = None,
) -> ApplyResult:
    """Apply all, or (unless `keep_going`) nothing: ApplyError lists every problem found.

    `rehearse` says which would be refused once those before them are applied. In `trace`, every object is applied
    because of what led to this call, none because of the one before it.
    """
    cause = trace.current if trace is not None else None

    def start_anew() -> None:
        if trace is not None:
            trace.current = cause

    targets, problems = _targets(scheme, manifests, namespace)
    fresh = await _fresh_namespaces(client, targets)
    together = {(t.info.gvk.kind, t.namespace, t.name): None for t in targets}
    is_several = len(manifests) > 1  # one object cannot be half applied: no dry run first
    good = []
    for target in targets:
        try:
            if is_several:
                start_anew()
                await _check(client, target, fresh, together)
            good.append(target)
        except (StatusError, TimeoutError) as error:
            problems.append(f"{place_of(target.manifest)}: {_text(error)}")
    if not keep_going:
        if rehearse is not None and not problems:
            problems = [
                f"{place_of(target.manifest)}: {_text(error)} (once the manifests before it are applied)"
                for target, error in rehearse(good)
            ]
        if problems:
            raise ApplyError(problems)
    applied: list[Applied] = []
    for target in good:
        start_anew()
        try:
            applied.append(await _apply_when_possible(client, target, fresh))
        except (StatusError, TimeoutError) as error:
            problems.append(f"{place_of(target.manifest)}: {_text(error)}")
            if not keep_going:
                raise ApplyError(problems, applied) from error
    warnings = [f"{place_of(m)}: {w}" for m in manifests for w in m.warnings]
    return ApplyResult(tuple(applied), tuple(problems), tuple(warnings))


async def _fresh_namespaces(client: Client, targets: Sequence[Target]) -> dict[str, None]:
    """The namespaces that come with the manifests and do not exist yet."""
    fresh: dict[str, None] = {}
    for target in targets:
        if target.info.gvr == NAMESPACES:
            try:
                await client.get(NAMESPACES, target.name)
            except NotFoundError:
                fresh[target.name] = None
    return fresh


Together = Mapping[tuple[str, str, str], Any]
"""Kind, namespace and name of all objects that come together."""


async def _check(client: Client, target: Target, fresh: Mapping[str, None], together: Together) -> None:
    """StatusError when the object would be refused."""
    copy = _without_needs(target, fresh, together)
    if copy is target:
        await apply_one(client, target, dry_run=True)
        return
    with suppress(AlreadyExistsError):  # what is valid may well have the name of something else
        await client.create(copy.info.gvr, copy.object, copy.namespace or None, dry_run="All")


def _without_needs(target: Target, fresh: Mapping[str, None], together: Together) -> Target:
    """The object as it could be created now, without the ones that come with it: in the namespace `default` if its own
    is new, a Pod without ServiceAccount and PriorityClass if those are. `target` itself where nothing is missing."""
    is_fresh, obj = target.namespace in fresh, target.object
    if target.info.gvk.kind == "Pod" and isinstance(obj.get("spec"), dict):
        spec = dict(obj["spec"])
        account = spec.get("serviceAccountName") or spec.get("serviceAccount") or "default"
        if ("ServiceAccount", target.namespace, account) in together or (is_fresh and account == "default"):
            spec = {k: v for k, v in spec.items() if k not in ("serviceAccountName", "serviceAccount")}
        elif is_fresh:
            why = f'error looking up service account {target.namespace}/{account}: serviceaccount "{account}" not found'
            raise ForbiddenError.of("pods", target.name, why)
        if ("PriorityClass", "", spec.get("priorityClassName")) in together:
            del spec["priorityClassName"]
        obj = obj if spec == obj["spec"] else {**obj, "spec": spec}
    if is_fresh:
        obj = {**obj, "metadata": {**obj["metadata"], "namespace": "default"}}
    return (
        target if obj is target.object else target._replace(object=obj, namespace=obj["metadata"].get("namespace", ""))
    )


async def _apply_when_possible(client: Client, target: Target, fresh: Mapping[str, None]) -> Applied:
    """Apply; a Pod in a new namespace is sent again until the namespace has its ServiceAccount (kubectl would fail)."""
    tries = _ACCOUNT_TRIES if target.info.gvk.kind == "Pod" and target.namespace in fresh else 1
    while True:
        try:
            return await apply_one(client, target)
        except ForbiddenError as error:
            tries -= 1
            if tries <= 0 or "error looking up service account" not in error.message:
                raise
            await sleep(_ACCOUNT_MS)


def references(scheme: Scheme, manifests: Sequence[Manifest], namespace: str) -> list[Reference]:
    """The objects that applying `manifests` is about."""
    targets, _ = _targets(scheme, manifests, namespace)
    return [Reference(target.info, target.namespace, target.name) for target in targets]


def _text(error: Exception) -> str:
    return error.message if isinstance(error, StatusError) else f"no answer: {error}"


def _targets(scheme: Scheme, manifests: Sequence[Manifest], namespace: str) -> tuple[list[Target], list[str]]:
    targets, problems = [], []
    for manifest in in_order(manifests):
        try:
            check_limits(manifest)
        except ManifestError as error:
            problems.append(str(error))
            continue
        gvk = gvk_of(manifest.object)
        info = scheme.resource_of(gvk)
        obj = thaw(manifest.object)
        metadata = obj["metadata"] = obj.get("metadata") or {}
        home = metadata.get("namespace") or namespace if info.namespaced else ""
        if home:
            metadata["namespace"] = home
        name = metadata.get("name", "")
        if not name:
            wanted = "a name (apply cannot use generateName)"
            problems.append(str(_problem(manifest, "metadata.name", name, wanted)))
            continue
        targets.append(Target(manifest, info, home, name, obj))
    return targets, problems


async def apply_one(client: Client, target: Target, *, dry_run: bool = False) -> Applied:
    """Create the object or patch what differs, once."""
    obj, info = target.object, target.info
    modified = _with_last_applied(obj)
    params = {"dry_run": "All"} if dry_run else {}
    note = not_acted_on(info.gvk)
    try:
        current = await client.get(info.gvr, target.name, target.namespace)
    except NotFoundError:
        await client.create(info.gvr, modified, target.namespace or None, **params)
        return Applied(info, target.namespace, target.name, "created", note)
    original = json.loads((current["metadata"].get("annotations") or {}).get(LAST_APPLIED) or "{}")
    if info.gvk in SCHEME:
        kind = STRATEGIC_MERGE_PATCH
        patch = create_three_way_strategic_patch(original, modified, current, info.gvk)
    else:
        kind = MERGE_PATCH
        patch = create_three_way_merge_patch(original, modified, current)
    if not patch:
        return Applied(info, target.namespace, target.name, "unchanged", note)
    after = await client.patch(info.gvr, target.name, patch, target.namespace, patch_type=kind, **params)
    same = after["metadata"]["resourceVersion"] == current["metadata"]["resourceVersion"]
    return Applied(info, target.namespace, target.name, "unchanged" if same else "configured", note)


def _with_last_applied(obj: Object) -> dict[str, Any]:
    """The object with the annotation by which the next apply knows what this one wanted."""
    modified = thaw(obj)
    notes = modified["metadata"].setdefault("annotations", {}) or {}
    bare = {k: v for k, v in notes.items() if k != LAST_APPLIED}
    plain = thaw(obj)
    plain["metadata"]["annotations"] = bare
    text = json.dumps(plain, sort_keys=True, separators=(",", ":"), ensure_ascii=False) + "\n"
    modified["metadata"]["annotations"] = {**bare, LAST_APPLIED: text}
    return modified  # type: ignore[no-any-return]
