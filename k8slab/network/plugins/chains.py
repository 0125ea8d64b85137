"""Names and rules that plugins write into iptables: masquerading of an attachment's addresses.

>>> chain_name("test", "1234"), len(chain_name("test", "1234"))
('CNI-2bbe0c48b91a7d1b8a6753a8', 28)

Upstream: containernetworking/plugins pkg/utils/utils.go, pkg/ip/ipmasq_iptables_linux.go
"""

from __future__ import annotations

import hashlib

from k8slab.api.go_json import go_json
from k8slab.network.cni.addresses import Interface
from k8slab.network.fabric.namespace import Namespace

__all__ = ["chain_name", "hashed_name", "masquerade", "unmasquerade"]

_LONGEST_CHAIN = 28
_MULTICAST = {4: "224.0.0.0/4", 6: "ff00::/8"}
Rule = tuple[str, ...]


def hashed_name(length: int, prefix: str, text: str) -> str:
    """`prefix` and as much of a hash of `text` as there is room for."""
    return f"{prefix}{hashlib.sha512(text.encode()).hexdigest()}"[:length]


def chain_name(network: str, container_id: str, prefix: str = "") -> str:
    """The chain of one attachment, 28 characters."""
    return hashed_name(_LONGEST_CHAIN, f"CNI-{prefix}", network + container_id)


def _comment(network: str, container_id: str) -> Rule:
    return "-m", "comment", "--comment", f"name: {go_json(network)} id: {go_json(container_id)}"


def masquerade(host: Namespace, address: Interface, network: str, container_id: str) -> None:
    """What `address` sends out of its own network, leaves with the host's address. (Not what is multicast.)"""
    nat, chain, comment = host.nat[address.version], chain_name(network, container_id), _comment(network, container_id)
    nat.ensure_chain(chain)
    own = f"{address.ip}/{address.network.prefixlen}"
    nat.insert_unique(chain, ("-d", own, "-j", "ACCEPT", *comment))
    nat.insert_unique(chain, ("!", "-d", _MULTICAST[address.version], "-j", "MASQUERADE", *comment))
    nat.insert_unique("POSTROUTING", ("-s", str(address.ip), "-j", chain, *comment))


def unmasquerade(host: Namespace, address: Interface, network: str, container_id: str) -> None:
    """Take those rules away; idempotent."""
    nat, chain = host.nat[address.version], chain_name(network, container_id)
    nat.delete("POSTROUTING", ("-s", str(address.ip), "-j", chain, *_comment(network, container_id)))
    nat.delete_jumps("POSTROUTING", chain)
    nat.delete_chain(chain)
