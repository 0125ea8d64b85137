"""Addresses as Go reads and writes them: an IPv4 address in IPv6 clothes is an IPv4 address.

>>> parse_ip("::ffff:10.0.0.7"), parse_cidr("10.1.2.3/24")
(IPv4Address('10.0.0.7'), IPv4Interface('10.1.2.3/24'))

Upstream: Go's net.ParseIP and net.ParseCIDR; containernetworking/plugins pkg/ip/ip.go
"""

from __future__ import annotations

import ipaddress
from ipaddress import IPv4Address, IPv4Interface, IPv4Network, IPv6Address, IPv6Interface, IPv6Network

from k8slab.network.cni.errors import CNIError

__all__ = ["Address", "Interface", "Network", "go_text", "next_ip", "parse_cidr", "parse_ip", "parse_ip_or_cidr"]

Address = IPv4Address | IPv6Address
Interface = IPv4Interface | IPv6Interface
Network = IPv4Network | IPv6Network


def parse_ip(text: str) -> Address:
    """An address without prefix. CNIError: "invalid IP address: …"."""
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        raise CNIError(f"invalid IP address: {text}") from None
    if isinstance(address, IPv6Address):
        if address.scope_id is not None:
            raise CNIError(f"invalid IP address: {text}")
        return address.ipv4_mapped or address
    return address


def parse_cidr(text: str) -> Interface:
    """An address with its prefix, host bits kept. CNIError: "invalid CIDR address: …"."""
    head, slash, length = text.partition("/")
    try:
        if not slash or not length.isascii() or not length.isdigit() or "%" in head:
            raise ValueError(text)
        return ipaddress.ip_interface(f"{head}/{int(length)}")
    except ValueError:
        raise CNIError(f"invalid CIDR address: {text}") from None


def parse_ip_or_cidr(text: str) -> Address | None:
    """An address, with a prefix or without; None for "". CNIError: "invalid IP address …" (no colon here)."""
    if not text:
        return None
    try:
        return parse_ip(str(parse_cidr(text).ip)) if "/" in text else parse_ip(text)
    except CNIError:
        raise CNIError(f"invalid IP address {text}") from None


def go_text(given: Interface) -> str:
    """As Go prints it: IPv4 written as IPv6 is IPv4."""
    mapped = getattr(given.ip, "ipv4_mapped", None)
    return str(given) if mapped is None else f"{mapped}/{max(given.network.prefixlen - 96, 0)}"


def next_ip(address: Address) -> Address:
    """The address after this one; after the last one the first."""
    kind = type(address)
    return kind((int(address) + 1) % (1 << address.max_prefixlen))
