"""Levels, versions, and the policy that a namespace's labels ask for.

Upstream: pod-security-admission/api/{helpers,constants}.go
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

from k8slab.api.errors import Cause
from k8slab.api.labels import go_quote

__all__ = [
    "BASELINE",
    "LEVELS",
    "PREFIX",
    "PRIVILEGED",
    "RESTRICTED",
    "UNRESTRICTED",
    "LevelVersion",
    "Policy",
    "policy_of",
]

PREFIX = "pod-security.kubernetes.io/"
PRIVILEGED, BASELINE, RESTRICTED = "privileged", "baseline", "restricted"
LEVELS = (PRIVILEGED, BASELINE, RESTRICTED)
LATEST = "latest"
_MOST = (1 << 63) - 1
_version = re.compile(r"v1\.([0-9]|[1-9][0-9]*)").fullmatch


class LevelVersion(NamedTuple):
    """A level as of a release: `restricted` of `latest` or `v1.25`."""

    level: str
    version: str = LATEST

    @property
    def minor(self) -> int | None:
        """25 of v1.25; None of the latest."""
        return None if self.version == LATEST else int(self.version.removeprefix("v1."))

    def __str__(self) -> str:
        return f"{self.level}:{self.version}"


_PRIVILEGED = LevelVersion(PRIVILEGED)


class Policy(NamedTuple):
    """What is refused, what goes into the audit log, what is only warned about."""

    enforce: LevelVersion = _PRIVILEGED
    audit: LevelVersion = _PRIVILEGED
    warn: LevelVersion = _PRIVILEGED

    @property
    def is_fully_privileged(self) -> bool:
        return all(one.level == PRIVILEGED for one in self)

    def is_equivalent(self, other: Policy) -> bool:
        """Equal but for the versions of `privileged`."""
        return all(a == b or a.level == b.level == PRIVILEGED for a, b in zip(self, other, strict=True))


UNRESTRICTED = Policy()
"""All modes are privileged."""


def policy_of(labels: Mapping[str, str], defaults: Policy = UNRESTRICTED) -> tuple[Policy, list[Cause]]:
    """The policy of a namespace, and what is wrong with its labels.

    There is always a policy: what cannot be read is `restricted` for enforce, `privileged` for audit and warn, and the
    version `latest`. Where `warn` is not named, it is at least as strict as `enforce`.
    """
    if not labels:
        return defaults, []
    causes: list[Cause] = []
    modes: dict[str, LevelVersion] = {}
    for mode, current in zip(Policy._fields, defaults, strict=True):
        level, version = current
        if (given := labels.get(f"{PREFIX}{mode}")) is not None:
            if given in LEVELS:
                level = given
            else:
                level = RESTRICTED if mode == "enforce" else PRIVILEGED
                causes.append(_invalid(mode, given, f"must be one of {', '.join(LEVELS)}"))
        if (given := labels.get(f"{PREFIX}{mode}-version")) is not None:
            if given == LATEST or ((match := _version(given)) and int(match[1]) <= _MOST):
                version = given
            else:
                version = LATEST
                causes.append(_invalid(f"{mode}-version", given, 'must be "latest" or "v1.x"'))
        modes[mode] = LevelVersion(level, version)
    return _with_warn(Policy(**modes), labels), causes


def _with_warn(policy: Policy, labels: Mapping[str, str]) -> Policy:
    enforce, warn = policy.enforce, policy.warn
    if f"{PREFIX}warn" in labels or labels.get(f"{PREFIX}enforce") not in LEVELS:
        return policy
    if LEVELS.index(enforce.level) <= LEVELS.index(warn.level):
        return policy
    version = warn.version if f"{PREFIX}warn-version" in labels else enforce.version
    return policy._replace(warn=LevelVersion(enforce.level, version))


def _invalid(label: str, value: str, detail: str) -> Cause:
    text = f"Invalid value: {go_quote(value)}: {detail}"
    return Cause("FieldValueInvalid", text, f"metadata.labels[{PREFIX}{label}]")
