"""What a cloud refuses, and why.

Upstream: the error codes of EC2's RunInstances, CreateFleet and TerminateInstances, which autoscalers tell apart
(aws/karpenter-provider-aws pkg/errors/errors.go).
"""

from __future__ import annotations

from collections.abc import Sequence

from k8slab.autoscaling.cloud.instance_types import SPOT, Pool

__all__ = [
    "CloudError",
    "InstanceNotFoundError",
    "InsufficientCapacityError",
    "LaunchFailedError",
    "QuotaExceededError",
]


class CloudError(Exception):
    """The cloud said no. `code` is what its API answers; `pool` is where it was asked, if it was about one."""

    code = "InternalError"

    def __init__(self, message: str, pool: Pool | None = None) -> None:
        super().__init__(f"{self.code}: {message}")
        self.message = message
        self.pool = pool


class InsufficientCapacityError(CloudError):
    """There is no machine of this type in this zone now. Another pool, or later, may do."""

    code = "InsufficientInstanceCapacity"

    def __init__(self, pool: Pool) -> None:
        super().__init__(
            f"We currently do not have sufficient {pool.instance_type} capacity in the Availability Zone you requested "
            f"({pool.zone}).",
            pool,
        )


class QuotaExceededError(CloudError):
    """The account may not have so many CPUs of this kind at once. Waiting does not help; fewer CPUs do."""

    code = "VcpuLimitExceeded"

    def __init__(self, pool: Pool, quota: str, limit: int) -> None:
        if pool.capacity_type == SPOT:
            self.code = "MaxSpotInstanceCountExceeded"
        super().__init__(
            f"You have requested more vCPU capacity than your current vCPU limit of {limit} allows for the instance "
            f"bucket that the specified instance type belongs to ({quota}).",
            pool,
        )


class LaunchFailedError(CloudError):
    """Every pool that was offered refused; `errors` has one error for each, in the order they were asked."""

    def __init__(self, errors: Sequence[CloudError]) -> None:
        self.errors = tuple(errors)
        codes = {error.code for error in errors}
        self.code = codes.pop() if len(codes) == 1 else "UnfulfillableCapacity"
        super().__init__("; ".join(error.message for error in errors), errors[-1].pool)


class InstanceNotFoundError(CloudError):
    """No instance of this id was ever launched."""

    code = "InvalidInstanceID.NotFound"

    def __init__(self, instance_id: str) -> None:
        super().__init__(f"The instance ID '{instance_id}' does not exist")
