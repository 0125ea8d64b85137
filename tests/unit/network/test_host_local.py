"""host-local: which address, whose lease, and what is left after a crash.

Expected addresses and texts: containernetworking/plugins plugins/ipam/host-local/backend/allocator/allocator_test.go,
range_test.go and README.md; for GC and STATUS the specification 1.1.0. (What the real plugin says to more than a
hundred configurations stands in tests/property/test_real_host_local.py.)
"""

from __future__ import annotations

import json
import random
from typing import Any

import pytest

from k8slab.network import CNIError, HostLocal, LeaseStore, MemoryFiles, run
from k8slab.network.cni.addresses import parse_ip
from k8slab.network.plugins.host_local.allocator import candidates
from k8slab.network.plugins.host_local.config import load_ipam_config
from k8slab.network.plugins.host_local.ranges import RangeSet, parse_range
from k8slab.sim import Disk

FOLDER = "/var/lib/cni/networks/net"


class Node:
    """One node's host-local."""

    def __init__(self, *sets: list[dict[str, str]], files: MemoryFiles | None = None) -> None:
        self.files = files or MemoryFiles()
        self.plugin = HostLocal(self.files)
        self.sets = list(sets)

    def call(self, command: str, container: str, if_name: str = "eth0", **more: Any) -> tuple[int, Any]:
        ipam = {"type": "host-local", "ranges": self.sets}
        config = {"cniVersion": "1.1.0", "name": "net", "ipam": ipam, **more}
        env = {"CNI_COMMAND": command, "CNI_CONTAINERID": container, "CNI_NETNS": "/run/netns/x"}
        env |= {"CNI_IFNAME": if_name, "CNI_PATH": "/opt/cni/bin"}
        done = run(self.plugin, env, json.dumps(config).encode())
        return done.code, json.loads(done.stdout) if done.stdout else None

    def add(self, container: str, **more: Any) -> str:
        """The address without prefix, or the text of the failure."""
        code, body = self.call("ADD", container, **more)
        return str(body["msg"]) if code else str(body["ips"][0]["address"]).partition("/")[0]

    def leases(self) -> dict[str, str]:
        return {str(lease.address): lease.container_id for lease in LeaseStore(self.files, FOLDER).leases()}


def test_the_first_address_is_that_after_the_gateway_and_then_the_next() -> None:
    node = Node([{"subnet": "10.0.0.0/29"}])
    assert [node.add(f"c{n}") for n in range(6)] == [
        *("10.0.0.2", "10.0.0.3", "10.0.0.4", "10.0.0.5", "10.0.0.6"),
        "failed to allocate for range 0: no IP addresses available in range set: 10.0.0.1-10.0.0.6",
    ]


def test_an_address_that_comes_back_waits_until_the_round_is_over() -> None:
    node = Node([{"subnet": "10.0.0.0/29"}])
    assert [node.add("a"), node.add("b")] == ["10.0.0.2", "10.0.0.3"]
    node.call("DEL", "a")
    assert [node.add(name) for name in "cdef"] == ["10.0.0.4", "10.0.0.5", "10.0.0.6", "10.0.0.2"]


def test_the_round_goes_through_all_ranges_of_a_set() -> None:
    node = Node([{"subnet": "10.0.0.0/30"}, {"subnet": "10.0.1.0/30"}])
    assert [node.add(name) for name in "ab"] == ["10.0.0.2", "10.0.1.2"]
    assert node.add("c").endswith("no IP addresses available in range set: 10.0.0.1-10.0.0.2,10.0.1.1-10.0.1.2")
    node.call("DEL", "a")
    assert node.add("c") == "10.0.0.2"


def test_a_gateway_in_the_middle_is_passed_over() -> None:
    node = Node([{"subnet": "10.0.0.0/29", "gateway": "10.0.0.3"}])
    assert [node.add(name) for name in "abc"] == ["10.0.0.1", "10.0.0.2", "10.0.0.4"]


def test_the_last_reserved_address_is_remembered_by_a_file_and_a_stale_one_is_ignored() -> None:
    node = Node([{"subnet": "10.0.0.0/29"}])
    node.add("a")
    assert node.files.read(f"{FOLDER}/last_reserved_ip.0") == b"10.0.0.2"
    node.files.write(f"{FOLDER}/last_reserved_ip.0", b"192.168.0.7")
    assert node.add("b") == "10.0.0.3"
    node.files.write(f"{FOLDER}/last_reserved_ip.0", b"10.0.0.5")
    assert node.add("c") == "10.0.0.6"


def test_each_set_gives_one_address_and_a_failure_gives_all_back() -> None:
    node = Node([{"subnet": "10.0.0.0/29"}], [{"subnet": "10.0.1.0/30"}])
    _, body = node.call("ADD", "a")
    assert [one["address"] for one in body["ips"]] == ["10.0.0.2/29", "10.0.1.2/30"]
    assert node.add("b") == "failed to allocate for range 1: no IP addresses available in range set: 10.0.1.1-10.0.1.2"
    assert node.leases() == {"10.0.0.2": "a", "10.0.1.2": "a"}


def test_one_attachment_has_one_address_and_two_interfaces_have_two() -> None:
    node = Node([{"subnet": "10.0.0.0/29"}])
    node.add("a")
    again = "failed to allocate for range 0: 10.0.0.2 has been allocated to a, duplicate allocation is not allowed"
    assert node.add("a") == again
    assert node.add("a", if_name="eth1") == "10.0.0.3"


def test_del_frees_one_interface_may_be_repeated_and_needs_no_add() -> None:
    node = Node([{"subnet": "10.0.0.0/29"}])
    node.add("a")
    node.add("a", if_name="eth1")
    for _ in range(3):
        assert node.call("DEL", "a") == (0, None)
    assert node.leases() == {"10.0.0.3": "a"}
    assert node.call("DEL", "nobody") == (0, None)


def test_a_requested_address_is_given_or_the_add_fails() -> None:
    node = Node([{"subnet": "10.0.0.0/29"}], [{"subnet": "10.0.1.0/29"}])
    wanted = {"runtimeConfig": {"ips": ["10.0.1.5", "10.0.0.6"]}}
    assert [one["address"] for one in node.call("ADD", "a", **wanted)[1]["ips"]] == ["10.0.0.6/29", "10.0.1.5/29"]
    taken = "failed to allocate for range 0: requested IP address 10.0.0.6 is not available in range set "
    assert node.add("b", runtimeConfig={"ips": ["10.0.0.6"]}) == f"{taken}10.0.0.1-10.0.0.6"
    gateway = "failed to allocate for range 0: requested ip 10.0.0.1 is subnet's gateway"
    assert node.add("b", runtimeConfig={"ips": ["10.0.0.1"]}) == gateway
    assert node.add("b", runtimeConfig={"ips": ["8.8.8.8"]}) == "failed to allocate all requested IPs: 8.8.8.8"
    assert sorted(node.leases().values()) == ["a", "a"]


def test_an_ipv6_range_ends_with_the_last_address() -> None:
    assert str(parse_range({"subnet": "2001:db8::/124"})) == "2001:db8::1-2001:db8::f"
    assert str(parse_range({"subnet": "10.0.0.0/28"})) == "10.0.0.1-10.0.0.14"


def test_candidates_are_every_address_once_wherever_the_round_begins() -> None:
    ranges = RangeSet([parse_range({"subnet": "10.0.0.0/29"}), parse_range({"subnet": "10.0.1.0/29"})])
    everything = {str(address) for address, _ in candidates(ranges, None)}
    assert len(everything) == 10
    for last in sorted(everything):
        found = [str(address) for address, _ in candidates(ranges, parse_ip(last))]
        assert sorted(found) == sorted(everything)
        assert found[-1] == last


def test_the_lock_is_a_file_and_nobody_takes_it_twice() -> None:
    files = MemoryFiles()
    store = LeaseStore(files, FOLDER)
    with store.locked(), pytest.raises(BlockingIOError, match="the lock is held"), store.locked():
        raise AssertionError
    assert files.walk(FOLDER) == [f"{FOLDER}/lock"]
    files.check_invariants()


def test_two_that_do_not_lock_still_cannot_have_one_address() -> None:
    store = LeaseStore(MemoryFiles(), FOLDER)
    assert store.reserve("a", "eth0", parse_ip("10.0.0.2"), "0")
    assert not store.reserve("b", "eth0", parse_ip("10.0.0.2"), "0")


# -- leaks -----------------------------------------------------------------------------------------


def test_gc_frees_what_belongs_to_nobody_that_is_valid() -> None:
    node = Node([{"subnet": "10.0.0.0/29"}])
    for name in "abc":
        node.add(name)
    node.add("b", if_name="eth1")
    valid = [{"containerID": "b", "ifname": "eth0"}]
    assert node.call("GC", "", **{"cni.dev/valid-attachments": valid}) == (0, None)
    assert node.leases() == {"10.0.0.3": "b"}


def test_gc_without_a_list_frees_nothing() -> None:
    node = Node([{"subnet": "10.0.0.0/29"}])
    node.add("a")
    assert node.call("GC", "") == (1, {"code": 7, "msg": "missing key cni.dev/valid-attachments"})
    assert node.leases() == {"10.0.0.2": "a"}


TORN = {
    "empty: nobody's": (b"", False),
    "a part of a valid one": (b"b\r\net", True),
    "the id alone, as old versions wrote it": (b"b", True),
    "somebody else's": (b"z\r\neth0", False),
    "a part of somebody else's": (b"z\r", False),
}


@pytest.mark.parametrize(("data", "stays"), TORN.values(), ids=TORN)
def test_gc_and_a_half_written_lease(data: bytes, stays: bool) -> None:
    node = Node([{"subnet": "10.0.0.0/29"}])
    node.files.write(f"{FOLDER}/10.0.0.5", data)
    node.call("GC", "", **{"cni.dev/valid-attachments": [{"containerID": "b", "ifname": "eth0"}]})
    assert ("10.0.0.5" in node.leases()) is stays


def test_a_half_written_lease_keeps_its_address_until_gc() -> None:
    node = Node([{"subnet": "10.0.0.0/30"}])
    node.files.write(f"{FOLDER}/10.0.0.2", b"")
    assert "no IP addresses available" in node.add("a")
    node.call("DEL", "a")
    assert "no IP addresses available" in node.add("a")
    node.call("GC", "", **{"cni.dev/valid-attachments": []})
    assert node.add("a") == "10.0.0.2"


@pytest.mark.parametrize("seed", range(20))
def test_after_a_power_cut_no_address_is_given_twice_and_gc_frees_every_leak(seed: int) -> None:
    disk = Disk(random.Random(seed))
    node = Node([{"subnet": "10.0.0.0/28"}], files=MemoryFiles(disk))
    alive = {name: node.add(name) for name in "abcdef"}
    node.call("DEL", "a")
    disk.crash()
    node.files.reload()
    node.files.check_invariants()
    left = node.leases()
    given = [node.add(name) for name in "ghi"]
    assert not set(given) & set(left), "an address whose file is there, whatever is in it, is taken"
    valid = [{"containerID": name, "ifname": "eth0"} for name in "ghi"]
    node.call("GC", "", **{"cni.dev/valid-attachments": valid})
    assert sorted(node.leases()) == sorted(given)
    assert len(alive) == 6


def test_status_fails_with_50_when_nothing_is_left() -> None:
    node = Node([{"subnet": "10.0.0.0/30"}])
    assert node.call("STATUS", "") == (0, None)
    node.add("a")
    said = {"code": 50, "msg": "no IP addresses available in range set: 10.0.0.1-10.0.0.2"}
    assert node.call("STATUS", "") == (1, said)


def test_check_finds_a_lease_or_not() -> None:
    node = Node([{"subnet": "10.0.0.0/30"}])
    assert node.call("CHECK", "a")[1]["msg"] == "host-local: Failed to find address added by container a"
    node.add("a")
    assert node.call("CHECK", "a") == (0, None)


def test_two_nodes_with_one_range_give_away_the_same_addresses() -> None:
    one, two = (Node([{"subnet": "10.244.0.0/16"}]) for _ in range(2))
    assert one.add("a") == two.add("b") == "10.244.0.2"


def test_dns_comes_from_a_file_of_the_machine() -> None:
    files = MemoryFiles()
    text = b"# comment\n; another\nnameserver 192.0.2.3\n\nnameserver\nsearch a b\noptions ndots:5\ndomain local\n"
    files.write("/etc/resolv.conf", text)
    plugin = HostLocal(files)
    ipam = {"type": "host-local", "subnet": "10.0.0.0/24", "resolvConf": "/etc/resolv.conf"}
    env = {"CNI_COMMAND": "ADD", "CNI_CONTAINERID": "a", "CNI_NETNS": "/x", "CNI_IFNAME": "eth0", "CNI_PATH": "/b"}
    done = run(plugin, env, json.dumps({"cniVersion": "1.1.0", "name": "net", "ipam": ipam}).encode())
    assert json.loads(done.stdout)["dns"] == {
        "nameservers": ["192.0.2.3"],
        "domain": "local",
        "search": ["a", "b"],
        "options": ["ndots:5"],
    }


@pytest.mark.parametrize(
    ("ipam", "more", "msg"),
    [
        pytest.param({"rangeStart": 5, "gateway": "x"}, {}, "invalid IP address: x", id="a bad text ends decoding"),
        pytest.param(
            {"ranges": [[{"subnet": "10.0.0.0/24", "rangeEnd": 5}]], "resolvConf": 7},
            {},
            "json: cannot unmarshal number into Go struct field Range.ipam.ranges.rangeEnd of type net.IP",
            id="the first wrong type is told",
        ),
        pytest.param(
            {"rangeEnd": "x"}, {"runtimeConfig": {"ips": ["y"]}}, "invalid IP address: x", id="in the document's order"
        ),
    ],
)
def test_of_two_mistakes_the_one_is_told_that_gos_decoder_meets(
    ipam: dict[str, Any], more: dict[str, Any], msg: str
) -> None:
    with pytest.raises(CNIError) as info:
        load_ipam_config({"cniVersion": "1.0.0", "name": "net", "ipam": ipam, **more}, "")
    assert info.value.msg == msg


def test_a_bad_address_in_the_arguments_is_told_before_an_unknown_one() -> None:
    conf = {"cniVersion": "1.0.0", "name": "net", "ipam": {"subnet": "10.1.0.0/24"}}
    with pytest.raises(CNIError) as info:
        load_ipam_config(conf, "FOO=1;IP=x")
    assert info.value.msg == 'ARGS: error parsing value of pair "IP=x": invalid IP address x'


def test_a_range_for_no_subnet_is_told() -> None:
    with pytest.raises(CNIError, match="IP <nil> not v4 nor v6"):
        parse_range({"rangeStart": "10.0.0.1"})
