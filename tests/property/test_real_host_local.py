"""Whatever is asked, our host-local and the real one say the same and leave the same files.

The real one comes from Debian's containernetworking-plugins. Two addresses that are asked for of one range set are left
out: which of them the real one takes first is chance (it goes through a Go map).
"""

from __future__ import annotations

import copy
import random
from collections.abc import Iterator
from typing import Any

import pytest

from tests.counts import examples
from tests.programs import needs
from tests.real_host_local import BothHostLocals

VERSIONS = ("", "0.1.0", "0.2.0", "0.3.1", "0.4.0", "1.0.0", "1.1.0", "9", "a.b")
SUBNET = {"subnet": "10.1.0.0/24"}
IPAM: dict[str, dict[str, Any]] = {
    "a subnet": SUBNET,
    "host bits": {"subnet": "10.1.0.5/24"},
    "too small": {"subnet": "10.1.0.0/31"},
    "too small, and host bits": {"subnet": "10.1.0.3/31"},
    "one address": {"subnet": "10.1.0.0/32"},
    "IPv4 dressed as IPv6": {"subnet": "::ffff:10.0.0.0/104"},
    "IPv4 dressed as IPv6, too small": {"subnet": "::ffff:10.0.0.0/127"},
    "IPv6": {"subnet": "2001:db8::/64"},
    "IPv6, too small": {"subnet": "2001:db8::/127"},
    "no ranges": {"ranges": []},
    "an empty set": {"ranges": [[]]},
    "an empty range": {"ranges": [[{}]]},
    "null": {"ranges": None},
    "nothing": {},
    "a null range": {"ranges": [[None]]},
    "a range for a set": {"ranges": [{}]},
    "a map of ranges": {"ranges": {}},
    "a text for a range": {"ranges": [["x"]]},
    "start after end": {**SUBNET, "rangeStart": "10.1.0.9", "rangeEnd": "10.1.0.3"},
    "start elsewhere": {**SUBNET, "rangeStart": "10.2.0.9"},
    "end elsewhere": {**SUBNET, "rangeEnd": "10.2.0.9"},
    "end at the network's own address": {**SUBNET, "rangeEnd": "10.1.0.0"},
    "end at the broadcast address": {**SUBNET, "rangeEnd": "10.1.0.255"},
    "start at the network's own address": {**SUBNET, "rangeStart": "10.1.0.0"},
    "start of another family": {**SUBNET, "rangeStart": "2001:db8::1"},
    "end of another family": {**SUBNET, "rangeEnd": "2001:db8::1"},
    "a start without subnet": {"rangeStart": "10.1.0.3"},
    "an empty subnet": {"rangeStart": "10.1.0.3", "subnet": ""},
    "a null subnet": {"subnet": None},
    "a gateway of one's own": {**SUBNET, "gateway": "10.1.0.9"},
    "a gateway elsewhere": {**SUBNET, "gateway": "192.168.0.1"},
    "a gateway of another family": {**SUBNET, "gateway": "2001:db8::1"},
    "a gateway dressed as IPv6": {**SUBNET, "gateway": "::ffff:10.1.0.2"},
    "an empty gateway": {**SUBNET, "gateway": ""},
    "overlap in a set": {"ranges": [[SUBNET, {"subnet": "10.1.0.0/25"}]]},
    "overlap of sets": {"ranges": [[SUBNET], [{"subnet": "10.1.0.0/25"}]]},
    "two families in a set": {"ranges": [[SUBNET, {"subnet": "2001:db8::/64"}]]},
    "two families": {
        "ranges": [[SUBNET], [{"subnet": "2001:db8::/64"}]],
        "routes": [{"dst": "0.0.0.0/0"}, {"dst": "::/0", "gw": "2001:db8::9"}],
    },
    "two of one family": {**SUBNET, "ranges": [[{"subnet": "10.2.0.0/24"}]]},
    "zeros before a number": {"subnet": "10.01.0.0/24"},
    "no prefix": {"subnet": "10.1.0.0"},
    "a mask": {"subnet": "10.1.0.0/255.255.255.0"},
    "a sign": {"subnet": "10.1.0.0/+24"},
    "a zero before the prefix": {"subnet": "10.1.0.0/024"},
    "a blank": {"subnet": " 10.1.0.0/24"},
    "too long a prefix": {"subnet": "10.1.0.0/33"},
    "a zone": {"subnet": "fe80::%eth0/64"},
    "a number": {"subnet": 5},
    "a list": {"subnet": ["a"]},
    "a map": {"subnet": {}},
    "a boolean": {"subnet": True},
    "a number for a start": {**SUBNET, "rangeStart": 5},
    "a route nowhere": {**SUBNET, "routes": [{"dst": "x"}]},
    "a route without destination": {**SUBNET, "routes": [{}]},
    "a route with host bits": {**SUBNET, "routes": [{"dst": "10.0.0.7/8"}]},
    "a gateway that is none": {**SUBNET, "routes": [{"dst": "10.0.0.0/8", "gw": "zz"}]},
    "a map of routes": {**SUBNET, "routes": {}},
    "a number for a route": {**SUBNET, "routes": [3]},
    "no resolv.conf": {**SUBNET, "resolvConf": "/nowhere/resolv.conf"},
    "a route in IPv4 dressed as IPv6": {**SUBNET, "routes": [{"dst": "::ffff:1.2.3.0/120"}]},
    "a number for a destination": {**SUBNET, "routes": [{"dst": 5}]},
    "a number for a name": {**SUBNET, "name": 5},
    "a number for a folder, and for an end": {**SUBNET, "dataDir": 5, "rangeEnd": 6},
    "a number, then a text that is no address": {**SUBNET, "rangeStart": 5, "gateway": "x"},
    "a number, then a route nowhere": {**SUBNET, "rangeStart": 5, "routes": [{"dst": "x"}]},
    "a map of routes, then no subnet": {"routes": {}, "subnet": "x"},
    "a number in a set": {"ranges": [[{**SUBNET, "rangeStart": 5}]]},
    "a number for a subnet in a set": {"ranges": [[{"subnet": 5}]]},
    "a number in a set, then no subnet": {"ranges": [[{**SUBNET, "rangeStart": 5}, {"subnet": "x"}]]},
}
ARGS = (
    *("IP=10.1.0.7", "IP=10.1.0.7/24", "IP=10.1.0.1", "IP=10.2.0.1", "IP=x", "IP=", "IP=10.1.0.0", "IP=10.1.0.255"),
    *("FOO=1", "FOO=1;BAR=2", "FOO=1;IgnoreUnknown=1", "FOO", "IgnoreUnknown=maybe", "IgnoreUnknown=true;A=1"),
    *("FOO=1;IgnoreUnknown=False", "A=B=C", ";", "FOO=1;IP=x", "IP=10.1.0.7/33;FOO=1", "IP=x;A", "A;IP=x"),
)


@pytest.fixture
def both() -> Iterator[BothHostLocals]:
    pair = BothHostLocals(needs("host-local"))
    yield pair
    pair.close()


def config(ipam: Any, version: str = "1.0.0", **more: Any) -> dict[str, Any]:
    inner = {"type": "host-local", **ipam} if isinstance(ipam, dict) else ipam
    return {"cniVersion": version, "name": "net", "ipam": copy.deepcopy(inner), **more}


def agree(answers: tuple[Any, Any]) -> None:
    real, ours = answers
    assert ours == real


@pytest.mark.parametrize("ipam", IPAM.values(), ids=IPAM)
@pytest.mark.parametrize("version", ["0.2.0", "1.0.0"])
def test_every_configuration(ipam: dict[str, Any], version: str, both: BothHostLocals) -> None:
    for command in ("ADD", "CHECK", "ADD", "DEL", "DEL", "CHECK"):
        agree(both.call(command, config(ipam, version)))


@pytest.mark.parametrize("version", VERSIONS, ids=lambda text: text or "none")
def test_every_version(version: str, both: BothHostLocals) -> None:
    for name in ("a subnet", "IPv6", "two families", "two of one family"):
        for command in ("ADD", "CHECK", "DEL"):
            agree(both.call(command, config(IPAM[name], version)))


@pytest.mark.parametrize("args", ARGS)
def test_arguments(args: str, both: BothHostLocals) -> None:
    for command in ("ADD", "ADD", "DEL"):
        agree(both.call(command, config(SUBNET), args=args))


WHOLE = {
    "no ipam": {"cniVersion": "1.0.0", "name": "net"},
    "a null ipam": {"cniVersion": "1.0.0", "name": "net", "ipam": None},
    "a number for ipam": {"cniVersion": "1.0.0", "name": "net", "ipam": 7},
    "no name": {"cniVersion": "1.0.0"},
    "a number for a name": {"cniVersion": "1.0.0", "name": 7},
    "a number for a version": {"cniVersion": 1.0, "name": "net"},
    "a name with a blank": {"cniVersion": "1.0.0", "name": "a b"},
    "ranges at run time": config({}, runtimeConfig={"ipRanges": [[{"subnet": "10.9.0.0/24"}]]}),
    "ranges at run time too": config(SUBNET, runtimeConfig={"ipRanges": [[{"subnet": "10.9.0.0/24"}]]}),
    "an address at run time": config(SUBNET, runtimeConfig={"ips": ["10.1.0.9/24"]}),
    "addresses of two sets": config(
        {"ranges": [[SUBNET], [{"subnet": "10.2.0.0/24"}]]}, args={"cni": {"ips": ["10.2.0.8", "10.1.0.8"]}}
    ),
    "a wrong address, and a wrong route": config(
        {**SUBNET, "routes": [{"dst": "1.2.3.4"}]}, runtimeConfig={"ips": ["10.1.0.4/x"]}
    ),
    "a wrong address at run time first": {"runtimeConfig": {"ips": ["x"]}, **config({**SUBNET, "rangeEnd": "y"})},
    "a number at run time": config(SUBNET, runtimeConfig=5),
    "a number for arguments": config(SUBNET, args=5, runtimeConfig={"ips": [5]}),
    "a number for CNI's arguments": config(SUBNET, args={"cni": 7}),
    "a number in a range at run time": config(SUBNET, runtimeConfig={"ipRanges": [[{**SUBNET, "gateway": 5}]]}),
    "texts for ranges at run time": config(SUBNET, runtimeConfig={"ipRanges": ["x"]}),
    "an empty address": config(SUBNET, args={"cni": {"ips": [""]}}),
    "a number for an address": config(SUBNET, args={"cni": {"ips": [7]}}),
    "the same address twice": config(SUBNET, args={"cni": {"ips": ["10.1.0.8", "10.1.0.8"]}}),
}


@pytest.mark.parametrize("conf", WHOLE.values(), ids=WHOLE)
def test_whole_configurations(conf: dict[str, Any], both: BothHostLocals) -> None:
    for command in ("ADD", "CHECK", "DEL"):
        agree(both.call(command, conf))


SHAPES: tuple[dict[str, Any], ...] = (
    {"subnet": "10.1.0.0/29"},
    {"ranges": [[{"subnet": "10.1.0.0/30"}, {"subnet": "10.2.0.0/30"}]]},
    {
        "ranges": [
            [{"subnet": "10.1.0.0/29", "rangeStart": "10.1.0.3", "rangeEnd": "10.1.0.5", "gateway": "10.1.0.4"}],
            [{"subnet": "2001:db8::/126"}],
        ]
    },
    {"ranges": [[{"subnet": "10.1.0.0/29"}], [{"subnet": "10.3.0.0/30"}]]},
    {"subnet": "2001:db8::/125"},
)
FILES = ("10.1.0.2", "10.1.0.3", "last_reserved_ip.0", "last_reserved_ip.1")
TORN = (b"", b"a", b"a\r\n", b"a\r\neth", b"  b \r\n", b"10.1.0.4", b"nonsense", b"c\r\neth0\r\n")


@pytest.mark.parametrize("seed", range(examples(12)))
def test_histories_with_torn_files_and_changed_ranges(seed: int, both: BothHostLocals) -> None:
    rng = random.Random(seed)
    shape = rng.choice(SHAPES)
    for _ in range(30):
        if rng.random() < 0.05:
            shape = rng.choice(SHAPES)
        if rng.random() < 0.1:
            both.plant("net", rng.choice(FILES), rng.choice(TORN))
        more: dict[str, Any] = {}
        args, asks = "", rng.random()
        if asks < 0.1:
            args = f"IP=10.1.0.{rng.randrange(8)}"
        elif asks < 0.2:
            more = {"args": {"cni": {"ips": [f"10.1.0.{rng.randrange(8)}"]}}}
        elif asks < 0.3:
            more = {"runtimeConfig": {"ips": [f"10.1.0.{rng.randrange(8)}/29"]}}
        command = rng.choice(("ADD", "ADD", "ADD", "DEL", "CHECK"))
        name = rng.choice(("eth0", "eth0", "eth0", "eth1"))
        agree(both.call(command, config(shape, **more), rng.choice("abcdef"), args, name))
