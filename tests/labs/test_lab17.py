"""Lab 17: the solution answers what the package's host-local answers, mistakes are told apart, odd values are named."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest

from k8slab.lab import InProcessRunner, Op, find_lab, verify
from k8slab.network import HostLocal, MemoryFiles, run
from k8slab.network.plugins.host_local.allocator import candidates
from k8slab.network.plugins.host_local.ranges import RangeSet, parse_range
from tests.labs.taken import Taken

LAB = find_lab("17")
TAKEN = Taken(LAB, InProcessRunner())
FOLDER = "/var/lib/cni/networks/pods/"


def script_of(check: str, seed: int) -> list[Op]:
    generate = LAB.spec.check(check).generate
    assert generate is not None
    return list(generate(random.Random(seed)))


def answers(check: str, script: list[Op]) -> list[Any]:
    return TAKEN.answers(check, "; ".join(" ".join(op) for op in script))


# -- against the package ---------------------------------------------------------------------------


class Twin:
    """The package's host-local behind the lab's words."""

    def __init__(self) -> None:
        self.files = MemoryFiles()
        self.ranges: list[str] = []

    def do(self, verb: str, *words: str) -> str:
        return str(getattr(self, {"del": "delete", "files": "show"}.get(verb, verb))(*words))

    def range(self, subnet: str) -> str:
        self.ranges.append(subnet)
        return "ok"

    def torn(self, address: str) -> str:
        if self.files.exists(FOLDER + address):
            return "there"
        self.files.create(FOLDER + address, b"")
        return "ok"

    def names(self) -> list[str]:
        names = (path.removeprefix(FOLDER) for path in self.files.walk(FOLDER.rstrip("/")))
        return [name for name in names if name != "lock"]

    def leases(self) -> str:
        return " ".join(sorted(name for name in self.names() if "last" not in name)) or "none"

    def show(self) -> str:
        shown = sorted(f"{name}={self.files.read(FOLDER + name).decode()!r}" for name in self.names())
        return " ".join(shown).replace("'", "") or "none"

    def process(self, command: str, container: str, ifname: str, wrong: str = "nothing") -> tuple[int, Any]:
        env = {"CNI_COMMAND": command, "CNI_CONTAINERID": container, "CNI_NETNS": f"/run/netns/{container}"}
        env |= {"CNI_IFNAME": ifname, "CNI_PATH": "/opt/cni/bin"}
        ranges = [[{"subnet": one}] for one in self.ranges or ["10.1.0.0/29"]]
        ipam = {"type": "host-local", "ranges": ranges}
        config: dict[str, Any] = {"cniVersion": "1.1.0", "name": "pods", "type": "bridge", "ipam": ipam}
        what, _, which = wrong.partition(":")
        if what == "without":
            del env[which]
        elif what == "version":
            config["cniVersion"] = which
        elif what == "nameless":
            del config["name"]
        stdin = json.dumps(config)
        done = run(HostLocal(self.files), env, (stdin[:-9] if what == "cut" else stdin).encode())
        return done.code, json.loads(done.stdout) if done.stdout else None

    def add(self, container: str, ifname: str) -> str:
        status, body = self.process("ADD", container, ifname)
        return f"error {body['code']}" if status else " ".join(one["address"] for one in body["ips"])

    def delete(self, container: str, ifname: str) -> str:
        status, body = self.process("DEL", container, ifname)
        return f"error {body['code']}" if status else "ok"

    def call(self, command: str, container: str, ifname: str, wrong: str = "nothing") -> str:
        status, body = self.process(command, container, ifname, wrong)
        if status:
            return f"{status} code {body['code']}"
        if body is None:
            return "0 prints nothing"
        return f"0 {body['cniVersion']} " + " ".join(f"{one['address']} via {one['gateway']}" for one in body["ips"])


PLAYED = [check.name for check in LAB.spec.checks if check.setting != "range"]


@pytest.mark.parametrize("seed", range(25))
@pytest.mark.parametrize("check", PLAYED)
def test_the_plugin_answers_what_the_packages_answers(check: str, seed: int) -> None:
    script, twin = script_of(check, seed), Twin()
    for op, said in zip(script, answers(check, script), strict=True):
        assert said == twin.do(*op), op


@pytest.mark.parametrize("seed", range(25))
@pytest.mark.parametrize("check", ["knows-its-addresses", "keeps-to-its-part"])
def test_the_addresses_are_those_that_the_packages_would_give(check: str, seed: int) -> None:
    script = script_of(check, seed)
    for op, said in zip(script, answers(check, script), strict=True):
        keys = ("subnet", "rangeStart", "rangeEnd", "gateway")
        given = {key: word for key, word in zip(keys, op[1:], strict=True) if word != "-"}
        right = [str(address) for address, _ in candidates(RangeSet([parse_range(given)]), None)]
        assert said == (" ".join(right) or "none"), op


# -- what is wrong ---------------------------------------------------------------------------------


WRONG = {
    "addresses that are no texts": (
        "return [str(one) for one in map(type(first), numbers) if one != gateway]",
        "return [one for one in map(type(first), numbers) if one != gateway]",
        "knows-its-addresses",
        "addresses: expected a list of texts, found [IPv4Address('10.1.0.2')",
    ),
    "an address alone": (
        "        return given\n",
        '        return given[0]["address"]\n',
        "no-address-twice",
        "add: expected a list of ips, found '10.1.0.2/29'",
    ),
    "texts instead of ips": (
        "        return given\n",
        '        return [one["address"] for one in given]\n',
        "no-address-twice",
        """add: expected {"address": ..., "gateway": ...}, found '10.1.0.2/29'""",
    ),
    "a status without text": (
        "        return 0, run(env, stdin, files)",
        "        return 0 if run(env, stdin, files) or True else 1",
        "answers-the-runtime",
        "main: expected (exit status, what is printed), found 0",
    ),
    "an object where a text is printed": (
        '    return json.dumps({"cniVersion": config["cniVersion"], "ips": ips})',
        '    return {"cniVersion": config["cniVersion"], "ips": ips}',
        "answers-the-runtime",
        "main: expected a text to print, found {'cniVersion': '1.1.0'",
    ),
    "a file of something else": (
        "                self.files[note] = address\n",
        "                self.files[note] = number\n",
        "no-address-twice",
        "files: expected texts for name and content, found 'last_reserved_ip.0' and 0",
    ),
}


@pytest.mark.parametrize(("old", "new", "check", "said"), WRONG.values(), ids=WRONG)
def test_what_does_not_fit_is_named(old: str, new: str, check: str, said: str) -> None:
    report = verify(LAB, TAKEN.changed(old, new), only=[check], runner=InProcessRunner())
    assert said in report.results[0].reason


def test_a_configuration_that_was_changed_is_named() -> None:
    code = TAKEN.changed("        given = []\n", '        given, config["ranges"] = [], list(config["ranges"]) + []\n')
    assert verify(LAB, code, only=["gives-back"], runner=InProcessRunner()).passed, "the same again is no change"
    code = TAKEN.changed("        given = []\n", '        given, config["seen"] = [], True\n')
    report = verify(LAB, code, only=["gives-back"], runner=InProcessRunner())
    assert "add: changed the configuration it was handed" in report.results[0].reason


def test_who_only_knows_addresses_earns_what_needs_no_plugin() -> None:
    assert TAKEN.passed_without("add", "delete") == {"knows-its-addresses", "keeps-to-its-part"}


# -- a new process each time -----------------------------------------------------------------------


BEHIND = """        if self.files.get(note) in free:
            at = free.index(self.files[note]) + 1
"""
REMEMBERED = {
    "in the class": ("", "        told = HostLocal.__dict__.get(note, '')", "setattr(HostLocal, note, address)"),
    "in a variable": ("LAST = {}\n\n\n", "        told = LAST.get(note, '')", "LAST[note] = address"),
    "in a list of lists": ("SEEN = [[]]\n\n\n", "        told = (SEEN[0] or [''])[-1]", "SEEN[0].append(address)"),
    "in a function": (
        "def memory():\n    pass\n\n\n",
        "        told = getattr(memory, 'last', '')",
        "memory.last = address",
    ),
    "in a default argument": (
        "def memory(new='', last=['']):\n    last.append(new or last[-1])\n    return last[-1]\n\n\n",
        "        told = memory()",
        "memory(address)",
    ),
    "in an object": (
        "class Memory:\n    last = ''\n\n\nMEMORY = Memory()\n\n\n",
        "        told = MEMORY.last",
        "MEMORY.last = address",
    ),
}


@pytest.mark.parametrize(("before", "ask", "keep"), REMEMBERED.values(), ids=REMEMBERED)
def test_what_is_remembered_elsewhere_than_on_disk_is_gone_with_the_process(before: str, ask: str, keep: str) -> None:
    """The file is written all the same, and never read."""
    code = TAKEN.changed(BEHIND, f"{ask}\n        if told in free:\n            at = free.index(told) + 1\n")
    note = "                self.files[note] = address\n"
    assert note in code
    code = code.replace(note, f"{note}                {keep}\n").replace(
        "class HostLocal:", f"{before}class HostLocal:"
    )
    report = verify(LAB, code, only=["goes-round", "writes-it-down"], runner=InProcessRunner())
    found = {result.check.name: result.passed for result in report.results}
    assert found == {"goes-round": False, "writes-it-down": True}


def test_what_never_changes_may_be_kept_anywhere() -> None:
    code = TAKEN.changed("def addresses(", "from functools import lru_cache\n\nMASKS = {4: 32}\n\n\ndef addresses(")
    code = code.replace("class HostLocal:", "class HostLocal:\n    separator = '\\r\\n'\n    cache = {}\n")
    code = code.replace('f"{container}\\r\\n{ifname}"', "self.separator.join((container, ifname))")
    assert "self.separator.join" in code and verify(LAB, code, runner=InProcessRunner()).passed
