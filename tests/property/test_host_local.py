"""host-local against a twin that keeps a dict and looks through all addresses of the range every time."""

from __future__ import annotations

import json
from ipaddress import IPv4Address

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from k8slab.network import HostLocal, LeaseStore, MemoryFiles, run
from tests.counts import examples

FOLDER = "/var/lib/cni/networks/net"
FIRST, LAST, GATEWAY = IPv4Address("10.9.0.1"), IPv4Address("10.9.0.6"), IPv4Address("10.9.0.1")
containers = st.sampled_from(["a", "b", "c", "d", "e", "f", "g"])
interfaces = st.sampled_from(["eth0", "eth1"])


class Twin:
    """Everything written out: who has what, and who got the last one."""

    def __init__(self) -> None:
        self.taken: dict[str, tuple[str, str]] = {}
        self.last: IPv4Address | None = None

    def add(self, who: tuple[str, str]) -> str | None:
        if who in self.taken.values():
            return None
        everything = [FIRST + n for n in range(int(LAST) - int(FIRST) + 1)]
        if self.last is not None:
            place = everything.index(self.last)
            everything = everything[place + 1 :] + everything[: place + 1]
        free = [address for address in everything if address != GATEWAY and str(address) not in self.taken]
        if not free:
            return None
        self.last = free[0]
        self.taken[str(free[0])] = who
        return str(free[0])

    def keep(self, valid: list[tuple[str, str]]) -> None:
        self.taken = {address: who for address, who in self.taken.items() if who in valid}


class HostLocalMachine(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.files = MemoryFiles()
        self.plugin = HostLocal(self.files)
        self.twin = Twin()

    def _run(self, command: str, who: tuple[str, str], **more: object) -> tuple[int, bytes]:
        ipam = {"type": "host-local", "subnet": "10.9.0.0/29"}
        config = {"cniVersion": "1.1.0", "name": "net", "ipam": ipam, **more}
        env = {"CNI_COMMAND": command, "CNI_CONTAINERID": who[0], "CNI_IFNAME": who[1]}
        env |= {"CNI_NETNS": "/run/netns/x", "CNI_PATH": "/opt/cni/bin"}
        done = run(self.plugin, env, json.dumps(config).encode())
        return done.code, done.stdout

    @rule(container=containers, name=interfaces)
    def add(self, container: str, name: str) -> None:
        code, stdout = self._run("ADD", (container, name))
        expected = self.twin.add((container, name))
        assert (code == 0) is (expected is not None)
        if expected is not None:
            assert json.loads(stdout)["ips"] == [{"address": f"{expected}/29", "gateway": str(GATEWAY)}]

    @rule(container=containers, name=interfaces)
    def delete(self, container: str, name: str) -> None:
        assert self._run("DEL", (container, name)) == (0, b"")
        self.twin.keep([who for who in self.twin.taken.values() if who != (container, name)])

    @rule(valid=st.lists(st.tuples(containers, interfaces), max_size=6))
    def gc(self, valid: list[tuple[str, str]]) -> None:
        given = [{"containerID": container, "ifname": name} for container, name in valid]
        assert self._run("GC", ("", ""), **{"cni.dev/valid-attachments": given}) == (0, b"")
        self.twin.keep(valid)

    @rule()
    def status(self) -> None:
        full = len(self.twin.taken) == int(LAST) - int(FIRST)
        assert (self._run("STATUS", ("", ""))[0] == 1) is full

    @invariant()
    def the_files_say_what_the_twin_says(self) -> None:
        store = LeaseStore(self.files, FOLDER)
        store.check_invariants()
        self.files.check_invariants()
        assert {str(one.address): (one.container_id, one.if_name) for one in store.leases()} == self.twin.taken


HostLocalMachine.TestCase.settings = settings(max_examples=examples(40), stateful_step_count=30)
TestHostLocal = HostLocalMachine.TestCase
