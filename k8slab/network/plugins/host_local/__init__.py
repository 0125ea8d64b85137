"""host-local: addresses of a node's own ranges, each lease a file."""

from k8slab.network.plugins.host_local.plugin import HostLocal

__all__ = ["HostLocal"]
