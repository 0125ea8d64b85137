"""Names: the syntax rules with upstream's wording, generated names, and the hash behind template hashes.

Validators return the list of error texts; an empty list means valid. Lengths are counted in UTF-8 bytes.

Upstream: apimachinery/pkg/util/validation/validation.go,
    apimachinery/pkg/api/validate/content/{dns,kube,identifier,path,errors}.go,
    apiserver/pkg/storage/names/generate.go, apimachinery/pkg/util/rand/rand.go
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from functools import lru_cache

__all__ = [
    "VALIDATORS",
    "fnv32a",
    "generate_name",
    "is_c_identifier",
    "is_config_map_key",
    "is_dns1035_label",
    "is_dns1123_label",
    "is_dns1123_subdomain",
    "is_env_var_name",
    "is_path_segment_name",
    "is_qualified_name",
    "is_relaxed_env_var_name",
    "is_valid_label_value",
    "is_valid_percent",
    "is_valid_port_name",
    "is_valid_port_num",
    "random_suffix",
    "safe_encode",
]

ALPHANUMS = "bcdfghjklmnpqrstvwxz2456789"
"""No vowels and no digits that look like letters, so that no rude words come out."""
RANDOM_SUFFIX_LENGTH = 5
MAX_GENERATED_NAME_BASE = 63 - RANDOM_SUFFIX_LENGTH


def random_suffix(rng: random.Random, length: int = RANDOM_SUFFIX_LENGTH) -> str:
    """`length` characters of ALPHANUMS."""
    return "".join([ALPHANUMS[int(rng.random() * len(ALPHANUMS))] for _ in range(length)])


def generate_name(base: str, rng: random.Random) -> str:
    """What the API server makes of `metadata.generateName`: the first 58 characters and a random suffix."""
    return base[:MAX_GENERATED_NAME_BASE] + random_suffix(rng)


def safe_encode(text: str) -> str:
    """Each character mapped into ALPHANUMS, so that hashes look like generated names."""
    return "".join(ALPHANUMS[ord(c) % len(ALPHANUMS)] for c in text)


def fnv32a(data: bytes) -> int:
    """The 32-bit FNV-1a hash.

    >>> hex(fnv32a(b"a"))
    '0xe40c292c'
    """
    value = 2166136261
    for byte in data:
        value = (value ^ byte) * 16777619 & 0xFFFFFFFF
    return value


_DNS1123_LABEL = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_DNS1123_SUBDOMAIN = _DNS1123_LABEL + r"(\." + _DNS1123_LABEL + ")*"
_DNS1035_LABEL = "[a-z]([-a-z0-9]*[a-z0-9])?"
_LABEL_KEY = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_LABEL_VALUE = "(" + _LABEL_KEY + ")?"
_C_IDENTIFIER = "[A-Za-z_][A-Za-z0-9_]*"
_ENV_VAR_NAME = "[-._a-zA-Z][-._a-zA-Z0-9]*"
_CONFIG_MAP_KEY = "[-._a-zA-Z0-9]+"
_PERCENT = "[0-9]+%"

_dns1123_label = re.compile(_DNS1123_LABEL).fullmatch
_dns1123_subdomain = re.compile(_DNS1123_SUBDOMAIN).fullmatch
_dns1035_label = re.compile(_DNS1035_LABEL).fullmatch
_label_key = re.compile(_LABEL_KEY).fullmatch
_label_value = re.compile(_LABEL_VALUE).fullmatch
_c_identifier = re.compile(_C_IDENTIFIER).fullmatch
_env_var_name = re.compile(_ENV_VAR_NAME).fullmatch
_config_map_key = re.compile(_CONFIG_MAP_KEY).fullmatch
_percent = re.compile(_PERCENT).fullmatch
_port_name_characters = re.compile("[-a-z0-9]+").fullmatch
_port_name_letter = re.compile("[a-z]").search

_ALPHANUMERIC_ENDS = "and must start and end with an alphanumeric character"
_LABEL_CHARACTERS = f"consist of alphanumeric characters, '-', '_' or '.', {_ALPHANUMERIC_ENDS}"


def _too_long(value: str, limit: int, unit: str) -> list[str]:
    return [f"must be no more than {limit} {unit}"] if len(value.encode()) > limit else []


def _regex_error(message: str, pattern: str, *examples: str) -> str:
    if not examples:
        return f"{message} (regex used for validation is '{pattern}')"
    shown = " or ".join(f"'{example}', " for example in examples)
    return f"{message} (e.g. {shown}regex used for validation is '{pattern}')"


@lru_cache(maxsize=4096)
def _dns1123_label_errors(value: str) -> tuple[str, ...]:
    errors = _too_long(value, 63, "characters")
    if not _dns1123_label(value):
        if _dns1123_subdomain(value):
            errors.append("must not contain dots")
        else:
            message = (
                "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', "
                + _ALPHANUMERIC_ENDS
            )
            errors.append(_regex_error(message, _DNS1123_LABEL, "my-name", "123-abc"))
    return tuple(errors)


def is_dns1123_label(value: str) -> list[str]:
    """One part of a DNS name: `my-name`, `123-abc`."""
    return list(_dns1123_label_errors(value))


@lru_cache(maxsize=4096)
def _dns1123_subdomain_errors(value: str, unit: str) -> tuple[str, ...]:
    errors = _too_long(value, 253, unit)
    if not _dns1123_subdomain(value):
        message = (
            "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', "
            + _ALPHANUMERIC_ENDS
        )
        errors.append(_regex_error(message, _DNS1123_SUBDOMAIN, "example.com"))
    return tuple(errors)


def is_dns1123_subdomain(value: str) -> list[str]:
    """A DNS name: what most objects may be called."""
    return list(_dns1123_subdomain_errors(value, "characters"))


def is_dns1035_label(value: str) -> list[str]:
    """A DNS label that starts with a letter: the older rule, for Services."""
    errors = _too_long(value, 63, "characters")
    if not _dns1035_label(value):
        message = (
            "a DNS-1035 label must consist of lower case alphanumeric characters or '-', "
            "start with an alphabetic character, and end with an alphanumeric character"
        )
        errors.append(_regex_error(message, _DNS1035_LABEL, "my-name", "abc-123"))
    return errors


@lru_cache(maxsize=4096)
def _label_key_errors(value: str) -> tuple[str, ...]:
    message = f"must {_LABEL_CHARACTERS}"
    syntax = _regex_error(message, _LABEL_KEY, "MyName", "my.name", "123-abc")
    errors: list[str] = []
    parts = value.split("/")
    if len(parts) > 2:
        return (
            f"a valid label key {syntax} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')",
        )
    name = parts[-1]
    if len(parts) == 2:
        if not parts[0]:
            errors.append("prefix part must be non-empty")
        errors += [f"prefix part {e}" for e in (_dns1123_subdomain_errors(parts[0], "bytes") if parts[0] else ())]
    if not name:
        errors.append("name part must be non-empty")
    errors += [f"name part {e}" for e in _too_long(name, 63, "bytes")]
    if not _label_key(name):
        errors.append(f"name part {syntax}")
    return tuple(errors)


def is_qualified_name(value: str) -> list[str]:
    """Keys of labels, annotations and taints, names of resources: `app`, `example.com/app`."""
    return list(_label_key_errors(value))


@lru_cache(maxsize=4096)
def _label_value_errors(value: str) -> tuple[str, ...]:
    errors = _too_long(value, 63, "bytes")
    if not _label_value(value):
        message = f"a valid label must be an empty string or {_LABEL_CHARACTERS}"
        errors.append(_regex_error(message, _LABEL_VALUE, "MyValue", "my_value", "12345"))
    return tuple(errors)


def is_valid_label_value(value: str) -> list[str]:
    """At most 63 bytes; may be empty."""
    return list(_label_value_errors(value))


def is_c_identifier(value: str) -> list[str]:
    if _c_identifier(value):
        return []
    message = (
        "a valid C identifier must start with alphabetic character or '_', "
        "followed by a string of alphanumeric characters or '_'"
    )
    return [_regex_error(message, _C_IDENTIFIER, "my_name", "MY_NAME", "MyName")]


def is_valid_port_num(port: int) -> list[str]:
    return [] if 1 <= port <= 65535 else ["must be between 1 and 65535, inclusive"]


def is_valid_port_name(port: str) -> list[str]:
    """Names of container and Service ports: at most 15 of a-z, 0-9 and single hyphens, with a letter."""
    errors = _too_long(port, 15, "characters")
    if not _port_name_characters(port):
        errors.append("must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)")
    if not _port_name_letter(port):
        errors.append("must contain at least one letter (a-z)")
    if "--" in port:
        errors.append("must not contain consecutive hyphens")
    if port.startswith("-") or port.endswith("-"):
        errors.append("must not begin or end with a hyphen")
    return errors


def is_valid_percent(percent: str) -> list[str]:
    if _percent(percent):
        return []
    message = "a valid percent string must be a numeric string followed by an ending '%'"
    return [_regex_error(message, _PERCENT, "1%", "93%")]


def _parent_folder_errors(value: str) -> list[str]:
    if value in (".", ".."):
        return [f"must not be '{value}'"]
    return ["must not start with '..'"] if value.startswith("..") else []


def is_env_var_name(value: str) -> list[str]:
    """The strict rule; since 1.34 the API server only asks for `is_relaxed_env_var_name`."""
    errors: list[str] = []
    if not _env_var_name(value):
        message = (
            "a valid environment variable name must consist of alphabetic characters, digits, '_', '-', or '.', "
            "and must not start with a digit"
        )
        errors.append(_regex_error(message, _ENV_VAR_NAME, "my.env-name", "MY_ENV.NAME", "MyEnvName1"))
    return errors + _parent_folder_errors(value)


def is_relaxed_env_var_name(value: str) -> list[str]:
    """Any printable ASCII character but `=`."""
    errors = [] if value else ["environment variable name must be non-empty"]
    if any(not " " <= c <= "~" or c == "=" for c in value):
        errors.append(
            "a valid environment variable name must consist only of printable ASCII characters other than '='"
        )
    return errors


def is_config_map_key(value: str) -> list[str]:
    """Keys of ConfigMaps and Secrets: they become file names."""
    errors = _too_long(value, 253, "characters")
    if not _config_map_key(value):
        message = "a valid config key must consist of alphanumeric characters, '-', '_' or '.'"
        errors.append(_regex_error(message, _CONFIG_MAP_KEY, "key.name", "KEY_NAME", "key-name"))
    return errors + _parent_folder_errors(value)


def is_path_segment_name(name: str) -> list[str]:
    """May stand in a URL path: the least that any object name must obey."""
    if name in (".", ".."):
        return [f"may not be '{name}'"]
    return [f"may not contain '{c}'" for c in "/%" if c in name]


VALIDATORS: dict[str, Callable[[str], list[str]]] = {
    "IsCIdentifier": is_c_identifier,
    "IsConfigMapKey": is_config_map_key,
    "IsDNS1035Label": is_dns1035_label,
    "IsDNS1123Label": is_dns1123_label,
    "IsDNS1123Subdomain": is_dns1123_subdomain,
    "IsEnvVarName": is_env_var_name,
    "IsPathSegmentName": is_path_segment_name,
    "IsQualifiedName": is_qualified_name,
    "IsRelaxedEnvVarName": is_relaxed_env_var_name,
    "IsValidLabelValue": is_valid_label_value,
    "IsValidPercent": is_valid_percent,
    "IsValidPortName": is_valid_port_name,
}
"""Upstream's function names to ours."""
