"""A snapshot straight from a cluster, through the official Python client. Lists only: nothing is changed there.

Simplified: nothing; this module has no upstream.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

from k8slab.cluster.snapshots import ClusterSnapshot, SnapshotError
from k8slab.cluster.snapshots.fields import KINDS

__all__ = ["NotListed", "collect", "read_cluster"]

PAGE = 500
Get = Callable[[str, Mapping[str, str]], Any]
"""(path, query) -> the answer's JSON; raises NotListed."""


class NotListed(Exception):
    """The server did not list a resource. `status`: the HTTP code."""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(f"{status} {reason}")
        self.status = status


def read_cluster(kubeconfig: Path, context: str | None) -> tuple[ClusterSnapshot, list[str]]:
    """The snapshot, and a note for each kind that could not be listed. SnapshotError; OSError for the kubeconfig."""
    try:
        from kubernetes import config
        from urllib3.exceptions import HTTPError
    except ImportError:
        raise SnapshotError(
            "--kubeconfig needs the Kubernetes client: pip install 'k8slab[live]' (or dump the cluster with kubectl)"
        ) from None
    if not kubeconfig.is_file():
        raise SnapshotError(f"--kubeconfig {kubeconfig}: expected a file")
    try:
        api = config.new_client_from_config(str(kubeconfig), context, persist_config=False)
    except (config.ConfigException, yaml.YAMLError) as error:
        raise SnapshotError(f"--kubeconfig {kubeconfig}: {error}") from None

    def get(path: str, query: Mapping[str, str]) -> Any:
        request = api.param_serialize("GET", path, query_params=list(query.items()), auth_settings=["BearerToken"])
        answer = api.call_api(*request)
        body = answer.read()
        if answer.status != 200:
            raise NotListed(answer.status, str(answer.reason))
        return json.loads(body)

    try:
        return collect(get)
    except HTTPError as error:
        raise SnapshotError(f"--kubeconfig {kubeconfig}: {error}") from None


def collect(get: Get) -> tuple[ClusterSnapshot, list[str]]:
    """List every kind that scheduling reads, a page at a time. Nodes and Pods must be there; others may be refused."""
    notes: list[str] = []
    try:
        version = str(get("/version", {}).get("gitVersion") or "")
    except NotListed as error:
        version = ""
        notes.append(f"the server's version is unknown: {error}")
    return ClusterSnapshot.of(_objects(get, notes), "the cluster", server_version=version), notes


def _objects(get: Get, notes: list[str]) -> Iterator[Any]:
    for (group, kind), row in KINDS.items():
        version = row.gvr.version
        path = f"/apis/{group}/{version}/{row.gvr.resource}" if group else f"/api/{version}/{row.gvr.resource}"
        try:
            for item in _pages(get, path):
                yield {"apiVersion": f"{group}/{version}" if group else version, "kind": kind, **item}
        except NotListed as error:
            if kind in ("Node", "Pod"):
                raise SnapshotError(f"{row.gvr.resource}: {error}: expected to list them") from None
            notes.append(f"{row.gvr.resource} could not be listed: {error}")


def _pages(get: Get, path: str) -> Iterator[Any]:
    query = {"limit": str(PAGE)}
    while True:
        answer = get(path, query)
        yield from answer.get("items") or ()
        token = (answer.get("metadata") or {}).get("continue")
        if not token:
            return
        query["continue"] = token
