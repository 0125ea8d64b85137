"""Values that are an integer or a percentage, ports, user ids, IP addresses and CIDRs.

Upstream: pkg/apis/apps/validation/validation.go (ValidatePositiveIntOrPercent), apimachinery/pkg/util/validation/ip.go,
    validation.go (IsValidUserID), pkg/apis/core/validation/validation.go (ValidateNonSpecialIP)
"""

from __future__ import annotations

import ipaddress
import re
from typing import Any

from k8slab.api.errors import Cause
from k8slab.api.names import is_valid_percent, is_valid_port_name, is_valid_port_num
from k8slab.api.validation.field import each, invalid, not_negative

__all__ = [
    "MAX_INT32",
    "int_or_percent_value",
    "is_ip",
    "validate_cidr",
    "validate_id",
    "validate_ip",
    "validate_non_special_ip",
    "validate_not_more_than_100_percent",
    "validate_port_num_or_name",
    "validate_positive_int_or_percent",
]

MAX_INT32 = 2**31 - 1
_NOT_AN_IP = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"
_NOT_A_CIDR = "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"
_LEADING_ZEROS = re.compile(r"(^|\.)0+(?=[0-9])")


def validate_positive_int_or_percent(path: str, value: Any) -> list[Cause]:
    if isinstance(value, str):
        return each(path, value, is_valid_percent(value))
    return not_negative(path, value)


def validate_not_more_than_100_percent(path: str, value: Any) -> list[Cause]:
    if isinstance(value, str) and not is_valid_percent(value) and int(value[:-1]) > 100:
        return [invalid(path, value, "must not be greater than 100%")]
    return []


def int_or_percent_value(value: Any) -> int:
    """The number before the percent sign, or the number itself; 0 for texts that are neither."""
    if isinstance(value, str):
        text = value[:-1] if not is_valid_percent(value) else value
        return int(text) if text.lstrip("+-").isdigit() else 0
    return int(value or 0)


def validate_port_num_or_name(path: str, port: Any) -> list[Cause]:
    if isinstance(port, str):
        return each(path, port, is_valid_port_name(port))
    return each(path, port, is_valid_port_num(port))


def validate_id(path: str, value: int | None) -> list[Cause]:
    """A user or group id."""
    if value is None or 0 <= value <= MAX_INT32:
        return []
    return [invalid(path, value, f"must be between 0 and {MAX_INT32}, inclusive")]


def _parse_ip(value: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """As upstream's sloppy parser: leading zeros of IPv4 parts are ignored."""
    text = _LEADING_ZEROS.sub(r"\1", value) if ":" not in value else value
    try:
        return ipaddress.ip_address(text) if "%" not in text else None
    except ValueError:
        return None


def is_ip(value: str) -> bool:
    return _parse_ip(value) is not None


def validate_ip(path: str, value: str) -> list[Cause]:
    address = _parse_ip(value)
    if address is None:
        return [invalid(path, value, _NOT_AN_IP)]
    if ":" not in value and _LEADING_ZEROS.search(value):
        return [invalid(path, value, "must not have leading 0s")]
    if address.version == 6 and address.ipv4_mapped is not None:
        return [invalid(path, value, "must not be an IPv4-mapped IPv6 address")]
    return []


def validate_cidr(path: str, value: str) -> list[Cause]:
    address, slash, length = value.partition("/")
    ip = _parse_ip(address)
    if ip is None or not slash or not length.isdigit() or int(length) > ip.max_prefixlen:
        return [invalid(path, value, _NOT_A_CIDR)]
    if (len(length) > 1 and length.startswith("0")) or (":" not in address and _LEADING_ZEROS.search(address)):
        return [invalid(path, value, "must not have leading 0s in IP or prefix length")]
    if ip.version == 6 and ip.ipv4_mapped is not None:
        return [invalid(path, value, "must not have an IPv4-mapped IPv6 address")]
    if ipaddress.ip_network(f"{ip}/{length}", strict=False).network_address != ip:
        return [invalid(path, value, "must not have bits set beyond the prefix length")]
    return []


def validate_non_special_ip(path: str, value: str) -> list[Cause]:
    """Addresses of Endpoints and external IPs: no loopback, link-local or unspecified ones."""
    address = _parse_ip(value)
    if address is None:
        return [invalid(path, value, "must be a valid IP address")]
    errors: list[Cause] = []
    if address.is_unspecified:
        errors.append(invalid(path, value, f"may not be unspecified ({value})"))
    if address.is_loopback:
        errors.append(invalid(path, value, "may not be in the loopback range (127.0.0.0/8, ::1/128)"))
    if address.is_link_local:
        errors.append(invalid(path, value, "may not be in the link-local range (169.254.0.0/16, fe80::/10)"))
    local_multicast = ipaddress.ip_network("224.0.0.0/24" if address.version == 4 else "ff02::/16")
    if address in local_multicast:
        detail = "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)"
        errors.append(invalid(path, value, detail))
    return errors
