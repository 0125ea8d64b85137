"""The nat table of iptables: chains of rules, edited as plugins do and followed as a packet does.

>>> nat = NatTable()
>>> nat.ensure_chain("CNI-DN-1")
>>> nat.insert_unique("CNI-DN-1", ("-p", "tcp", "--dport", "8080", "-j", "DNAT", "--to-destination", "10.1.0.2:80"))
>>> nat.insert_unique("PREROUTING", ("-m", "addrtype", "--dst-type", "LOCAL", "-j", "CNI-DN-1"))
>>> nat.rules("PREROUTING")
['-A PREROUTING -m addrtype --dst-type LOCAL -j CNI-DN-1']

Upstream: iptables(8), iptables-extensions(8); containernetworking/plugins pkg/utils/iptables.go
Simplified: the nat table alone; of the matches -p, -s, -d, --dport, --destination-ports, --dst-type LOCAL, --mark, and
`!` before -d; of the targets ACCEPT, RETURN, DNAT, MASQUERADE, MARK --set-xmark and other chains.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from k8slab.network.cni.addresses import Address, parse_cidr, parse_ip

__all__ = ["BUILT_IN", "NatError", "NatTable", "Tuple5", "Verdict"]

BUILT_IN = ("PREROUTING", "INPUT", "OUTPUT", "POSTROUTING")
_LONGEST_CHAIN = 28
_DEEPEST = 32
Rule = tuple[str, ...]


class NatError(ValueError):
    """What iptables refuses."""


class Tuple5(NamedTuple):
    """What NAT looks at. `mark`: set on the way by rules."""

    protocol: str
    source: Address
    source_port: int
    destination: Address
    port: int
    mark: int = 0


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a chain made of a packet: `target` DNAT, MASQUERADE or ACCEPT, and the rules it matched on its way."""

    target: str
    packet: Tuple5
    matched: tuple[str, ...] = ()


class NatTable:
    """Chains by name, each a list of rules as they are given on the command line."""

    def __init__(self) -> None:
        self.chains: dict[str, list[Rule]] = {name: [] for name in BUILT_IN}

    # -- editing -----------------------------------------------------------------------------------

    def ensure_chain(self, name: str) -> None:
        """Make a chain unless it is there."""
        if len(name) > _LONGEST_CHAIN:
            raise NatError(f"chain name `{name}' too long (must be under 29 chars)")
        self.chains.setdefault(name, [])

    def insert_unique(self, chain: str, rule: Rule, *, prepend: bool = False) -> None:
        """Add a rule unless the chain has it."""
        if rule not in self._chain(chain):
            self._chain(chain).insert(0 if prepend else len(self.chains[chain]), rule)

    def delete(self, chain: str, rule: Rule) -> bool:
        """Take a rule out. Whether it was there."""
        if chain in self.chains and rule in self.chains[chain]:
            self.chains[chain].remove(rule)
            return True
        return False

    def delete_chain(self, name: str) -> bool:
        """Take a chain away, with its rules. Whether it was there. NatError: a rule still jumps to it."""
        if name in BUILT_IN:
            raise NatError(f"iptables: Invalid argument. {name} is a built-in chain")
        if name not in self.chains:
            return False
        users = [chain for chain, rules in self.chains.items() if any(_target(rule) == name for rule in rules)]
        if users:
            raise NatError(f"iptables: Too many links. {name} is used by {users[0]}")
        del self.chains[name]
        return True

    def delete_jumps(self, chain: str, target: str) -> int:
        """Take out of `chain` every rule that jumps to `target`. How many."""
        before = len(self.chains.get(chain, ()))
        if chain in self.chains:
            self.chains[chain] = [rule for rule in self.chains[chain] if _target(rule) != target]
        return before - len(self.chains.get(chain, ()))

    def has(self, chain: str, rule: Rule) -> bool:
        return rule in self.chains.get(chain, ())

    def rules(self, chain: str) -> list[str]:
        """As `iptables -t nat -S CHAIN` prints them."""
        return [f"-A {chain} {' '.join(map(_quoted, rule))}" for rule in self._chain(chain)]

    def _chain(self, name: str) -> list[Rule]:
        if name not in self.chains:
            raise NatError("iptables: No chain/target/match by that name.")
        return self.chains[name]

    # -- following ---------------------------------------------------------------------------------

    def traverse(self, chain: str, packet: Tuple5, is_local: Callable[[Address], bool]) -> Verdict:
        """Follow a packet through a built-in chain. `is_local`: whether an address is this machine's own."""
        matched: list[str] = []
        target, packet = self._follow(chain, packet, is_local, matched, 0)
        return Verdict(target or "ACCEPT", packet, tuple(matched))

    def _follow(
        self, chain: str, packet: Tuple5, is_local: Callable[[Address], bool], matched: list[str], depth: int
    ) -> tuple[str, Tuple5]:
        """(final target, packet); "" when the chain ended without one."""
        if depth > _DEEPEST:
            raise NatError(f"chain {chain}: jumps in a circle")
        for number, rule in enumerate(self._chain(chain), 1):
            if not _matches(rule, packet, is_local):
                continue
            target = _target(rule)
            matched.append(f"{chain} rule {number}: {target}")
            if target == "RETURN":
                return "", packet
            if target == "DNAT":
                return target, _dnat(rule, packet)
            if target == "MARK":
                value, _, mask = _option(rule, "--set-xmark").partition("/")
                packet = replace_mark(packet, int(value, 0), int(mask or "0xffffffff", 0))
            elif target in ("ACCEPT", "MASQUERADE"):
                return target, packet
            else:
                final, packet = self._follow(target, packet, is_local, matched, depth + 1)
                if final:
                    return final, packet
        return "", packet

    def check_invariants(self) -> None:
        """AssertionError when a rule jumps to a chain that is not there."""
        known = (*self.chains, "ACCEPT", "RETURN", "DNAT", "MASQUERADE", "MARK")
        for chain, rules in self.chains.items():
            for rule in rules:
                assert _target(rule) in known, f"{chain} jumps to {_target(rule)}, which is not there"
            assert len(rules) == len(dict.fromkeys(rules)), f"{chain} has a rule twice"


def _quoted(word: str) -> str:
    """In quotes where there is a blank or a quote in it."""
    if not any(c in word for c in ' "\\'):
        return word
    escaped = word.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def replace_mark(packet: Tuple5, value: int, mask: int) -> Tuple5:
    return packet._replace(mark=(packet.mark & ~mask) ^ value)


def _option(rule: Sequence[str], name: str) -> str:
    return rule[rule.index(name) + 1] if name in rule else ""


def _target(rule: Sequence[str]) -> str:
    return _option(rule, "-j")


def _dnat(rule: Rule, packet: Tuple5) -> Tuple5:
    host, _, port = _option(rule, "--to-destination").rpartition(":")
    return packet._replace(destination=parse_ip(host.strip("[]")), port=int(port))


def _matches(rule: Rule, packet: Tuple5, is_local: Callable[[Address], bool]) -> bool:
    protocol, ports = _option(rule, "-p"), _option(rule, "--dport") or _option(rule, "--destination-ports")
    if protocol and protocol != packet.protocol:
        return False
    if ports and str(packet.port) not in ports.split(","):
        return False
    if "--dst-type" in rule and not is_local(packet.destination):
        return False
    if "--mark" in rule:
        value, _, mask = _option(rule, "--mark").partition("/")
        if packet.mark & int(mask or "0xffffffff", 0) != int(value, 0):
            return False
    return _within(rule, "-s", packet.source) and _within(rule, "-d", packet.destination)


def _within(rule: Rule, option: str, address: Address) -> bool:
    words = _option(rule, option)
    if not words:
        return True
    is_negated = rule.index(option) > 0 and rule[rule.index(option) - 1] == "!"
    network = parse_cidr(words if "/" in words else f"{words}/{address.max_prefixlen}").network
    return (network.version == address.version and address in network) is not is_negated
