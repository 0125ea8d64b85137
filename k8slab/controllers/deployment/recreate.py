"""The strategy Recreate: stop everything old, wait until it has ended, start the new.

Upstream: pkg/controller/deployment/recreate.go
"""

from __future__ import annotations

from k8slab.api.pods import is_pod_terminal
from k8slab.controllers.deployment.new_replica_set import find_revisions
from k8slab.controllers.deployment.picture import Picture
from k8slab.controllers.deployment.scaling import clean_up, scale

__all__ = ["recreate"]


async def recreate(picture: Picture) -> None:
    """One step."""
    await find_revisions(picture, create=False)
    stopped = [await scale(picture, rs, 0) for rs in picture.old]
    if not (any(stopped) or _old_pods_are_running(picture)):
        if picture.new is None:
            await find_revisions(picture, create=True)
        assert picture.new is not None, "the new ReplicaSet exists or was created"
        await scale(picture, picture.new, picture.deployment["spec"]["replicas"])
        if picture.is_complete:
            await clean_up(picture)
    await picture.report_rollout()


def _old_pods_are_running(picture: Picture) -> bool:
    """Any Pod of an old ReplicaSet that has not ended, terminating ones included."""
    if any((rs.get("status") or {}).get("replicas") for rs in picture.old):
        return True
    pods = [pod for rs in picture.old for pod in picture.around.pods(rs["metadata"]["uid"])]
    return any(not is_pod_terminal(pod) for pod in pods)
