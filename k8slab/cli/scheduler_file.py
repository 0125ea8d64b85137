"""The scheduler's configuration in a file, for commands that ask a scheduler about a real cluster.

Simplified: nothing; this module has no upstream.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from k8slab.scheduler import KubeSchedulerConfiguration

__all__ = ["about_extenders", "scheduler_config"]


def scheduler_config(path: Path) -> KubeSchedulerConfiguration:
    """The configuration in a file, its plugins and their arguments checked too. ValueError (no secret in its text);
    OSError."""
    from k8slab.cluster.snapshots.secrets import scrubbed
    from k8slab.scheduler import Framework, KubeSchedulerConfiguration

    text = path.read_bytes()
    try:
        config = KubeSchedulerConfiguration.from_yaml(text, source=str(path))
        for profile in config.profiles:
            Framework.from_profile(profile)
    except ValueError as error:
        raise ValueError(scrubbed(str(error), text)) from None
    return config


def about_extenders(config: KubeSchedulerConfiguration | None) -> list[str]:
    """A note for each extender of a configuration, without user and password."""
    from k8slab.cluster.snapshots.secrets import without_userinfo

    extenders = config.extenders if config is not None else ()
    return [
        f"extender {without_userinfo(one.url_prefix)} is not asked: what it would say is missing" for one in extenders
    ]
