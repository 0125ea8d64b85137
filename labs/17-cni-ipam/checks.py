"""Lab 17: addresses of a range, ADD and DEL with host-local's files, and the CNI protocol around them, judged over
what was answered.

Upstream: containernetworking/plugins plugins/ipam/host-local (backend/allocator, backend/disk),
    containernetworking/cni pkg/skel/skel.go
Spec: CNI 1.1.0, sections 2 and 5
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from ipaddress import ip_address, ip_network

from k8slab.lab import Broken, Check, LabSpec, Op, Step

DEFAULT = "10.1.0.0/29"
Who = tuple[str, str]


def usable(subnet: str, start: str = "-", end: str = "-", gateway: str = "-") -> list[str]:
    """The addresses of a range, in order."""
    network = ip_network(subnet)
    first = ip_address(start) if start != "-" else network[1]
    last = ip_address(end) if end != "-" else network[-2] if network.version == 4 else network[-1]
    via = ip_address(gateway) if gateway != "-" else network[1]
    numbers = range(int(first), int(last) + 1)
    return [str(one) for one in map(type(first), numbers) if one != via]


@dataclass
class Folder:
    """What lies on the node's disk, as the answers tell. `held`: addresses by attachment; `torn`: files of nobody."""

    ranges: list[str] = field(default_factory=list)
    held: dict[Who, list[str]] = field(default_factory=dict)
    torn: list[str] = field(default_factory=list)
    last: str = ""

    @property
    def sets(self) -> list[list[str]]:
        return [usable(subnet) for subnet in self.ranges or [DEFAULT]]

    @property
    def taken(self) -> dict[str, Who | None]:
        found: dict[str, Who | None] = dict.fromkeys(self.torn)
        for who, addresses in self.held.items():
            found |= dict.fromkeys(addresses, who)
        return found

    def free(self) -> list[list[str]]:
        taken = self.taken
        return [[one for one in addresses if one not in taken] for addresses in self.sets]

    def next_in_turn(self) -> str:
        """The address whose turn it is, of a single range set; "" when all are taken."""
        addresses, taken = self.sets[0], self.taken
        at = addresses.index(self.last) + 1 if self.last in addresses else 0
        return next((one for one in addresses[at:] + addresses[:at] if one not in taken), "")

    def take(self, step: Step) -> None:
        """The operation was carried out and answered."""
        verb, *words = step.op
        if verb == "range":
            self.ranges.append(words[0])
        elif verb == "torn" and step.result == "ok":
            self.torn.append(words[0])
        elif verb == "add" and (given := addresses_of(step.result)):
            self.held[(words[0], words[1])] = self.held.get((words[0], words[1]), []) + given
            self.last = given[0]
        elif verb == "del" and step.result == "ok":
            self.held.pop((words[0], words[1]), None)


def addresses_of(result: str) -> list[str]:
    """The addresses of an answer, without their masks; none of an error."""
    return [] if is_error(result) or result == "nothing" else [word.partition("/")[0] for word in result.split()]


def is_error(result: str) -> bool:
    return result.startswith("error")


def state(steps: Sequence[Step]) -> dict[str, str]:
    folder = Folder()
    for step in steps:
        folder.take(step)
    held = [f"{', '.join(addresses)}: {who[0]} {who[1]}" for who, addresses in folder.held.items()]
    return {
        "ranges": ", ".join(folder.ranges or [DEFAULT]),
        "held": "; ".join(held) or "none",
        "torn files": ", ".join(folder.torn) or "none",
        "given last": folder.last or "none",
        "free": " | ".join(" ".join(one[:8]) or "none" for one in folder.free()),
    }


Look = Callable[[Step, Folder], Broken | None]


def judged(*looks: Look) -> Callable[[Sequence[Step]], Broken | None]:
    """The first thing that one of `looks` finds, at the first step at which one does."""

    def judge(steps: Sequence[Step]) -> Broken | None:
        folder = Folder()
        for step in steps:
            for look in looks:
                if found := look(step, folder):
                    return found
            folder.take(step)
        return None

    return judge


# -- addresses of a range --------------------------------------------------------------------------


def in_range(step: Step, folder: Folder) -> Broken | None:
    subnet, start, end, gateway = step.op[1:]
    network = ip_network(subnet)
    right = usable(subnet, start, end, gateway)
    said = [] if step.result == "none" else step.result.split()
    if said == right[:40]:
        return None
    via = gateway if gateway != "-" else str(network[1])
    invented = [one for one in said if one not in right]
    missing = [one for one in right[:40] if one not in said]

    def broken(why: str, cause: str) -> Broken:
        return Broken(step.number, why, cause)

    if str(network[0]) in invented:
        return broken(f"{network[0]} is the network itself: no Pod can have it", "network")
    if via in invented:
        return broken(f"{via} is the gateway: the bridge has it", "gateway")
    if network.version == 4 and str(network[-1]) in invented:
        return broken(f"{network[-1]} is the broadcast address", "broadcast")
    if invented:
        return broken(f"{invented[0]} is not between rangeStart and rangeEnd", "outside")
    if missing and missing[-1] == right[-1] and network.version == 6 and end == "-":
        return broken(f"{missing[-1]} is missing: IPv6 has no broadcast address", "ipv6-last")
    if missing and gateway != "-" and str(network[1]) in missing:
        return broken(f"{network[1]} is missing: the gateway is {gateway}", "two-gateways")
    if missing:
        return broken(f"{missing[0]} is missing", "missing")
    return broken("the addresses are right, their order is not: from the first to the last", "order")


# -- ADD and DEL -----------------------------------------------------------------------------------


def answers_add(step: Step, folder: Folder) -> Broken | None:
    """One usable address of each set that has a free one: who gives nothing would break no other promise."""
    if step.verb != "add":
        return None
    who = (step.op[1], step.op[2])
    if who in folder.held:
        return None
    sets, free, given = folder.sets, folder.free(), addresses_of(step.result)
    if not given:
        if all(free):
            return Broken(step.number, f"{free[0][0]} is free, and ADD answers {step.result}", "refuses")
        return None
    if len(given) != len(sets):
        told = f"there are {len(sets)} range sets, and ADD gives {len(given)} addresses: {step.result}"
        return Broken(step.number, told, "one-of-each")
    for address, addresses in zip(given, sets, strict=True):
        if address not in addresses:
            return Broken(step.number, f"{address} is not an address of its range set", "outside")
    return None


def not_twice(step: Step, folder: Folder) -> Broken | None:
    if step.verb != "add":
        return None
    taken = folder.taken
    for address in addresses_of(step.result):
        if address in taken:
            owner = taken[address]
            if owner is None:
                return Broken(step.number, f"there is a file {address}: somebody may have the address", "torn")
            told = f"{address} belongs to {' '.join(owner)}, and {step.op[1]} {step.op[2]} gets it too"
            return Broken(step.number, told, "duplicate")
    return None


def round_and_round(step: Step, folder: Folder) -> Broken | None:
    if step.verb != "add" or (step.op[1], step.op[2]) in folder.held or len(folder.sets) != 1:
        return None
    right, given = folder.next_in_turn(), addresses_of(step.result)
    if not right or not given or given == [right]:
        return None
    before = folder.last or "none"
    free = folder.free()[0]
    cause = "from-the-start" if given[0] == free[0] else "from-the-end" if given[0] == free[-1] else "order"
    told = f"the last one given was {before}: {right} is next, and ADD gives {given[0]}"
    return Broken(step.number, told, cause)


def del_succeeds(step: Step, folder: Folder) -> Broken | None:
    if step.verb == "del" and step.result != "ok":
        known = (step.op[1], step.op[2]) in folder.held
        told = f"DEL answers {step.result}" + ("" if known else f", for {step.op[1]} {step.op[2]} which has nothing")
        return Broken(step.number, f"{told}: DEL succeeds, also a second time", "del-fails")
    return None


def says_it_is_full(step: Step, folder: Folder) -> Broken | None:
    if step.verb != "add" or (step.op[1], step.op[2]) in folder.held:
        return None
    if not all(folder.free()) and not is_error(step.result):
        return Broken(step.number, f"no address is free, and ADD answers {step.result}", "full")
    if is_error(step.result) and step.result != "error 999":
        told = f"ADD answers {step.result}; host-local's own errors have no number of the specification's: 999"
        return Broken(step.number, told, "code")
    return None


def leases_are(cause_of: Callable[[list[str], list[str], Folder], str]) -> Look:
    """The files that are named after addresses are those of what is held, and no others."""

    def look(step: Step, folder: Folder) -> Broken | None:
        if step.verb != "leases":
            return None
        right, said = sorted(folder.taken), [] if step.result == "none" else step.result.split()
        if sorted(said) == right:
            return None
        more = [one for one in said if one not in right]
        less = [one for one in right if one not in said]
        told = f"there is a file {more[0]}, which nobody has" if more else f"there is no file {less[0]}, which is taken"
        return Broken(step.number, told, cause_of(more, less, folder))

    return look


def _left_or_gone(more: list[str], less: list[str], folder: Folder) -> str:
    return "leak" if more else "torn" if less[0] in folder.torn else "frees-others"


def _kept_or_gone(more: list[str], less: list[str], folder: Folder) -> str:
    return "not-freed" if more else "torn" if less[0] in folder.torn else "frees-others"


def once_each(step: Step, folder: Folder) -> Broken | None:
    who = (step.op[1], step.op[2]) if step.verb == "add" else ("", "")
    if who not in folder.held:
        return None
    if not is_error(step.result):
        told = f"{' '.join(who)} has {folder.held[who][0]} and gets {step.result} as well"
        return Broken(step.number, told, "second-address")
    return None


def written_down(step: Step, folder: Folder) -> Broken | None:
    """The files, byte for byte: a plugin of another version reads them, too."""
    if step.verb != "files":
        return None
    content = {one: f"{who[0]}\\r\\n{who[1]}" if who else "" for one, who in folder.taken.items()}
    said = {} if step.result == "none" else dict(word.split("=", 1) for word in step.result.split())
    for address, text in content.items():
        if address not in said:
            told = f"there is no file {address}" + ("" if text else " any more: it was torn, not free")
            return Broken(step.number, told, "file-name" if text else "torn")
        if said[address] != text:
            told = f"the file {address} holds {said[address] or 'nothing'}; it should hold {text or 'nothing'}"
            return Broken(step.number, told, "content")
    if folder.last and said.get("last_reserved_ip.0") != folder.last:
        told = f"last_reserved_ip.0 should hold {folder.last}, and holds {said.get('last_reserved_ip.0', 'nothing')}"
        return Broken(step.number, told, "last")
    extra = sorted(set(said) - set(content) - {"last_reserved_ip.0"})
    return Broken(step.number, f"what is the file {extra[0]} for?", "extra") if extra else None


# -- the protocol ----------------------------------------------------------------------------------


def calls(steps: Sequence[Step], look: Callable[[Step, Folder], Broken | None]) -> Broken | None:
    """Calls of the whole program, with the folder that follows from the answers."""
    folder = Folder()
    for step in steps:
        if found := look(step, folder):
            return found
        if step.verb == "call":
            as_plugin = ("add" if step.op[1] == "ADD" else "del", step.op[2], step.op[3])
            words = step.result.split()
            ips = " ".join(word for word in words[2:] if "/" in word)
            if words[0] == "0" and step.op[1] in ("ADD", "DEL"):
                folder.take(Step(step.number, as_plugin, ips if step.op[1] == "ADD" else "ok"))
        else:
            folder.take(step)
    return None


FAULTS = {
    "without:CNI_CONTAINERID": 4,
    "without:CNI_NETNS": 4,
    "without:CNI_IFNAME": 4,
    "without:CNI_PATH": 4,
    "version:9.9.9": 1,
    "cut": 6,
    "nameless": 7,
}


def expected_code(op: Op) -> int:
    """The code that a call must end with; 0: none."""
    command, wrong = op[1], op[4] if len(op) > 4 else "nothing"
    if command not in ("ADD", "DEL"):
        return 4
    if command == "DEL" and wrong == "without:CNI_NETNS":
        return 0
    return FAULTS.get(wrong, 0)


def success(step: Step, folder: Folder) -> Broken | None:
    """What a call that can succeed prints."""
    if step.verb != "call" or expected_code(step.op):
        return None
    command, who = step.op[1], (step.op[2], step.op[3])
    if command == "DEL":
        if step.result == "0 prints nothing":
            return None
        cause = "del-needs-netns" if len(step.op) > 4 else "del-prints" if step.result[0] == "0" else "del-fails"
        return Broken(step.number, f"DEL ends with status 0 and prints nothing; here: {step.result}", cause)
    if who in folder.held or not all(folder.free()):
        return None
    subnet = ip_network(DEFAULT)
    status, _, rest = step.result.partition(" ")
    version, _, printed = rest.partition(" ")
    if status != "0":
        return Broken(step.number, f"ADD could succeed, and ends with {step.result}", "fails")
    if version != "1.1.0":
        return Broken(step.number, f"the answer has the version of the configuration, 1.1.0; here: {rest}", "version")
    address, _, via = printed.partition(" via ")
    bare, _, mask = address.partition("/")
    if bare not in usable(DEFAULT) or mask != str(subnet.prefixlen):
        return Broken(step.number, f"expected an address of {DEFAULT} with its mask; here: {printed}", "address")
    if via != str(subnet[1]):
        return Broken(step.number, f"the gateway of {DEFAULT} is {subnet[1]}; here: {printed}", "gateway")
    return None


def failure(step: Step, folder: Folder) -> Broken | None:
    """What a call that must fail prints, and that it leaves nothing behind."""
    if step.verb == "leases":
        return leases_are(lambda more, less, _: "left-behind" if more else "frees-others")(step, folder)
    if step.verb != "call":
        return None
    code = expected_code(step.op)
    is_full = step.op[1] == "ADD" and not code and not all(folder.free())
    if not code and not is_full:
        return None
    code = code or 999
    wrong = " ".join(step.op[1:])
    status, _, rest = step.result.partition(" ")
    if status == "0":
        return Broken(step.number, f"{wrong}: it ends with status 0; a failure is a status other than 0", "status")
    if not rest.startswith("code "):
        return Broken(step.number, f"{wrong}: a failure prints an object with code and msg; here: {rest}", "no-code")
    if "without msg" in rest:
        return Broken(step.number, f"{wrong}: the object has no msg", "no-msg")
    said = rest.removeprefix("code ")
    if said != str(code):
        return Broken(step.number, f"{wrong}: the code is {said}; it should be {code}", f"code-{code}")
    return None


# -- scripts ---------------------------------------------------------------------------------------


def ranges(rng: random.Random) -> list[Op]:
    ops: list[Op] = []
    for _ in range(rng.randint(1, 3)):
        third, bits = rng.randint(0, 9), rng.choice((27, 28, 29, 30))
        subnet = f"10.1.{third}.0/{bits}" if rng.random() < 0.75 else f"fd00:{third}::/{rng.choice((124, 125, 126))}"
        ops.append(("addresses", subnet, "-", "-", "-"))
    return ops


def cut_out(rng: random.Random) -> list[Op]:
    ops: list[Op] = []
    for _ in range(rng.randint(1, 3)):
        block = ip_network(f"10.{rng.randint(1, 9)}.{rng.randint(0, 9)}.{rng.choice((0, 64, 128))}/27")
        start, end = sorted(rng.sample(range(1, 31), 2))
        via = rng.choice((1, start, end, rng.randint(1, 30)))
        words = [str(block[start]), str(block[end]), str(block[via])]
        ops.append(("addresses", str(block), *(word if rng.random() < 0.7 else "-" for word in words)))
    return ops


NAMES = ("a", "b", "c", "d", "e", "f", "g", "h")


def come_and_go(rng: random.Random, most: int = 5, steps: int = 14) -> list[Op]:
    """At most `most` attachments at a time; an ADD only of one that is not there."""
    there: list[str] = []
    ops: list[Op] = []
    for _ in range(rng.randint(6, steps)):
        away = [name for name in NAMES if name not in there]
        if there and (len(there) >= most or rng.random() < 0.4):
            name = there.pop(rng.randrange(len(there)))
            ops.append(("del", name, "eth0"))
        else:
            there.append(rng.choice(away))
            ops.append(("add", there[-1], "eth0"))
    return ops


def crowded(rng: random.Random) -> list[Op]:
    return come_and_go(rng, 5, 18)


def rounds(rng: random.Random) -> list[Op]:
    return come_and_go(rng, 3, 16)


def returns(rng: random.Random) -> list[Op]:
    """DELs of everybody, also of those who are not there, and a look at what is left."""
    ops = come_and_go(rng, 4, 10)
    for _ in range(rng.randint(1, 4)):
        ops.insert(rng.randint(0, len(ops)), ("del", rng.choice(NAMES), rng.choice(("eth0", "net1"))))
    return [*ops, ("leases",)]


def overfull(rng: random.Random) -> list[Op]:
    names = list(NAMES)
    rng.shuffle(names)
    ops: list[Op] = [("add", name, "eth0") for name in names[: rng.randint(6, 8)]]
    for _ in range(rng.randint(1, 3)):
        gone = rng.choice(names)
        ops += [("del", gone, "eth0"), ("add", rng.choice(names), "net1")]
    return ops


def two_sets(rng: random.Random) -> list[Op]:
    """The second set is smaller: it runs out first."""
    sizes = rng.choice((("10.1.0.0/28", "fd00::/126"), ("10.1.0.0/28", "10.2.0.0/30"), ("10.1.0.0/29", "fd00::/126")))
    ops: list[Op] = [("range", one) for one in sizes]
    for number, name in enumerate(rng.sample(NAMES, rng.randint(3, 6))):
        ops.append(("add", name, "eth0"))
        if rng.random() < 0.3:
            ops.append(("leases",))
        if number > 1 and rng.random() < 0.3:
            ops.append(("del", rng.choice(NAMES), "eth0"))
    return [*ops, ("leases",)]


def again(rng: random.Random) -> list[Op]:
    ops: list[Op] = []
    for _ in range(rng.randint(4, 9)):
        word = "add" if rng.random() < 0.75 else "del"
        ops.append((word, rng.choice(NAMES[:2]), rng.choice(("eth0", "net1"))))
    return [*ops, ("leases",)]


def on_disk(rng: random.Random) -> list[Op]:
    ops = come_and_go(rng, 3, 9)
    for _ in range(rng.randint(0, 2)):
        ops.insert(rng.randint(0, len(ops)), ("torn", f"10.1.0.{rng.randint(2, 6)}"))
    return [*ops, ("files",)]


def well_called(rng: random.Random) -> list[Op]:
    ops: list[Op] = []
    for _ in range(rng.randint(3, 8)):
        name = rng.choice(NAMES[:4])
        ops.append(("call", "ADD", name, "eth0") if rng.random() < 0.6 else ("call", "DEL", name, "eth0"))
        if ops[-1][1] == "DEL" and rng.random() < 0.5:
            ops[-1] = (*ops[-1], "without:CNI_NETNS")
    return ops


def badly_called(rng: random.Random) -> list[Op]:
    ops: list[Op] = []
    for number in range(rng.randint(2, 8)):
        command = rng.choice(("ADD", "ADD", "DEL"))
        ops.append(("call", command, f"c{number}", "eth0"))
        if rng.random() < 0.6:
            ops[-1] = (*ops[-1], rng.choice([*FAULTS]))
        elif rng.random() < 0.2:
            ops[-1] = ("call", "ADOPT", f"c{number}", "eth0")
    return [*ops, ("leases",)]


REFUSES = ["ADD may fail only when no address is free. What in your code decides that?"]
OUTSIDE = ["An address comes from addresses(...) of its own range set, not from the subnet."]
ONE_EACH = [
    "config['ranges'] is a list of range sets: an attachment gets one address of each, in that order.",
    "Loop over the sets and collect one answer for each.",
]
FORGETS = [
    "Each call is a new process: what is left of the one before? Only files.",
    "Look for the name of the address among the files, not into a list that your object keeps.",
    "`if address not in self.files:` and then `self.files[address] = ...`, before anything else is asked.",
]
COMMON = {"refuses": REFUSES, "outside": OUTSIDE, "one-of-each": ONE_EACH, "duplicate": FORGETS}
OTHERS = [
    "Whose files does your code remove? Only those that hold exactly this container and this interface are its own.",
    "Compare the whole content: container, \\r\\n, interface.",
]
TORN = [
    "An empty file: the plugin died between making it and writing it. Who has the address? Nobody can tell.",
    "A file that is there is a taken address, whatever is in it; and DEL removes only files that hold its own name.",
]

LAB = LabSpec(
    title="ADD and DEL with host-local",
    question="A node has 250 leases for 30 Pods, and the 31st Pod stays in ContainerCreating: no IP addresses "
    "available. How did it come to that, and why doesn't a restart help?",
    names={"CNIError": "class", "addresses": "function", "HostLocal": "class", "main": "function"},
    forbidden=("k8slab.network",),
    minutes=75,
    checks=(
        Check(
            "knows-its-addresses",
            "A subnet's addresses without the network, the gateway and the broadcast address",
            1,
            judged(in_range),
            {
                "eight": "addresses 10.1.0.0/29 - - -",
                "four": "addresses 10.1.0.0/30 - - -",
                "IPv6": "addresses fd00::/125 - - -",
            },
            ranges,
            {
                "": ["Write down the eight addresses of 10.1.0.0/29. Which of them can a Pod have?"],
                "network": ["ip_network('10.1.0.0/29')[0] is the network itself. Begin with [1]."],
                "gateway": [
                    "Without a gateway in the configuration it is the first host address, .1: the bridge has it.",
                    "Leave the gateway out wherever it lies, not only at the beginning.",
                ],
                "broadcast": ["The last address of an IPv4 subnet is the broadcast address: end at [-2]."],
                "ipv6-last": ["IPv6 has no broadcast address: there the last one is an address like any other."],
                "missing": ["From the first to the last: does your range end one too early?"],
                "order": ["From the lowest to the highest: as numbers, not as texts (.10 comes after .9)."],
            },
            setting="range",
            needs=("addresses",),
        ),
        Check(
            "keeps-to-its-part",
            "rangeStart, rangeEnd and gateway of the configuration count",
            1,
            judged(in_range),
            {
                "both ends": "addresses 10.1.0.0/27 10.1.0.10 10.1.0.20 -",
                "gateway inside": "addresses 10.1.0.0/29 - - 10.1.0.4",
                "gateway at the end": "addresses 10.1.0.0/29 - - 10.1.0.6",
            },
            cut_out,
            {
                "": ["What is not given has its default; what is given counts."],
                "network": ["Without rangeStart begin with [1], not with [0]."],
                "gateway": ["given['gateway'] is left out of what may be given away, in the middle, too."],
                "broadcast": ["Without rangeEnd end at [-2]."],
                "two-gateways": ["With a gateway of its own, .1 is an address like any other."],
                "outside": ["Begin at rangeStart and end with rangeEnd, both included."],
                "missing": ["rangeEnd itself may be given away: range(a, b) ends before b."],
                "order": ["From the lowest to the highest: as numbers, not as texts."],
            },
            setting="range",
            needs=("addresses",),
        ),
        Check(
            "no-address-twice",
            "No two attachments on a node have the same address, however often the plugin starts",
            2,
            judged(answers_add, not_twice),
            {
                "two": "add a eth0; add b eth0",
                "two families": "range 10.1.0.0/29; range fd00::/125; add a eth0; add b eth0",
                "one went": "add a eth0; add b eth0; del a eth0; add c eth0; add d eth0; add e eth0; add f eth0",
            },
            crowded,
            COMMON,
            setting="plugin",
            needs=("CNIError", "addresses", "HostLocal"),
            state=state,
        ),
        Check(
            "goes-round",
            "The next address is the one after the last that was given, not the first that is free",
            1,
            judged(answers_add, not_twice, round_and_round),
            {
                "not at once again": "add a eth0; del a eth0; add b eth0",
                "round": "add a eth0; add b eth0; add c eth0; add d eth0; add e eth0; del b eth0; add f eth0",
            },
            rounds,
            {
                **COMMON,
                "from-the-start": [
                    "The Pod is gone. Does everybody know? Another Pod may still send packets to its address.",
                    "Remember what was given last, in a file: last_reserved_ip.0. Each call is a process of its own: "
                    "what a class or a variable remembers is gone with the last one.",
                    "Take the list from behind the last one on, then the rest: free[at:] + free[:at].",
                ],
                "from-the-end": ["The search goes forward from the last one given, and begins with the lowest."],
                "order": ["Which address did the last ADD give? Begin one behind it, and go on past those taken."],
            },
            setting="plugin",
            needs=("CNIError", "addresses", "HostLocal"),
            state=state,
        ),
        Check(
            "gives-back",
            "DEL frees what the attachment has, nothing else, and succeeds also when there is nothing",
            2,
            judged(answers_add, del_succeeds, not_twice, leases_are(_kept_or_gone)),
            {
                "twice": "add a eth0; del a eth0; del a eth0; leases",
                "never there": "del a eth0; leases",
                "one of two interfaces": "add a eth0; add a net1; del a net1; leases",
                "names that begin alike": "add aa eth0; add a eth01; del a eth0; leases",
            },
            returns,
            {
                **COMMON,
                "del-fails": [
                    "The runtime calls DEL after a failed ADD, after a crash, and again when it is not sure.",
                    "If DEL fails, the Pod is never gone: it is asked again for ever. What is gone is gone: succeed.",
                ],
                "not-freed": [
                    "Which files hold the name of this attachment? Remove all of them.",
                    "Look for the content container, \\r\\n, interface.",
                ],
                "frees-others": OTHERS,
                "torn": TORN,
            },
            setting="plugin",
            needs=("CNIError", "addresses", "HostLocal"),
            state=state,
        ),
        Check(
            "says-it-is-full",
            "When every address is taken ADD fails with code 999, and goes on when one comes back",
            1,
            judged(answers_add, says_it_is_full, not_twice),
            {
                "five and one": "; ".join([*(f"add {name} eth0" for name in "abcdef"), "del c eth0", "add g eth0"]),
            },
            overfull,
            {
                **COMMON,
                "full": [
                    "What does your search do when it has seen every address once?",
                    "raise CNIError('no IP addresses available in range set: ...') behind the loop.",
                ],
                "raised": ["The search must come to an end: behind the loop over the addresses comes the CNIError."],
                "code": [
                    "11 would be 'try again later', and the runtime does. host-local's own errors are all 999.",
                ],
            },
            setting="plugin",
            needs=("CNIError", "addresses", "HostLocal"),
            state=state,
        ),
        Check(
            "all-or-nothing",
            "An ADD that fails leaves no lease behind",
            2,
            judged(answers_add, not_twice, leases_are(_left_or_gone)),
            {
                "the second set is full": "range 10.1.0.0/28; range 10.2.0.0/30; add a eth0; add b eth0; leases",
                "the first one stays": "range 10.1.0.0/28; range fd00::/126; add a eth0; add b eth0; add c eth0; "
                "leases; del a eth0; add d eth0; leases",
            },
            two_sets,
            {
                **COMMON,
                "leak": [
                    "The first set gave an address, the second had none. Who gives the first one back?",
                    "The kubelet tries again with another container: each try takes one more, until none is left.",
                    "Around the loop: on CNIError, delete what this attachment has, and raise again.",
                ],
                "frees-others": OTHERS,
            },
            setting="plugin",
            needs=("CNIError", "addresses", "HostLocal"),
            state=state,
        ),
        Check(
            "one-each",
            "A second ADD of the same container and interface fails, and changes nothing",
            1,
            judged(answers_add, once_each, not_twice, leases_are(_left_or_gone)),
            {
                "again": "add a eth0; add a eth0; leases",
                "two interfaces": "add a eth0; add a net1; leases",
                "names that begin alike": "add aa eth0; add a eth0; add b eth01; add b eth0; leases",
            },
            again,
            {
                **COMMON,
                "second-address": [
                    "Is there a file already that holds this container and this interface?",
                    "Then raise CNIError: ... duplicate allocation is not allowed.",
                ],
                "leak": ["The second ADD failed: what did it leave behind?"],
                "frees-others": [
                    "The second ADD failed and took the first one's address away: the container is still using it.",
                    "Ask for a duplicate before anything is taken, outside of what cleans up.",
                ],
            },
            setting="plugin",
            needs=("CNIError", "addresses", "HostLocal"),
            state=state,
        ),
        Check(
            "writes-it-down",
            "The files are host-local's: one for each address, and a torn one is a taken address",
            2,
            judged(answers_add, not_twice, written_down),
            {
                "one": "add a eth0; files",
                "gone": "add a eth0; del a eth0; files",
                "torn": "torn 10.1.0.2; add a eth0; del a eth0; files",
            },
            on_disk,
            {
                **COMMON,
                "file-name": ["The file is named after the address, without its mask: 10.1.0.2."],
                "content": ["In the file: the container's id, \\r\\n, the name of the interface. Nothing behind it."],
                "last": [
                    "last_reserved_ip.0 holds what the first range set gave last, .1 what the second gave.",
                    "DEL does not touch it.",
                ],
                "extra": ["A plugin of another version reads this folder: keep no other files there."],
                "torn": TORN,
            },
            setting="plugin",
            needs=("CNIError", "addresses", "HostLocal"),
            state=state,
        ),
        Check(
            "answers-the-runtime",
            "ADD prints what was given as JSON; DEL prints nothing and needs no namespace",
            2,
            lambda steps: calls(steps, success),
            {
                "both": "call ADD a eth0; call DEL a eth0",
                "the namespace is gone": "call ADD a eth0; call DEL a eth0 without:CNI_NETNS",
            },
            well_called,
            {
                "": ["main answers (0, text): of ADD the text of a JSON object, of DEL nothing."],
                "fails": ["Which CNIError did your ADD end with? The configuration for HostLocal is config['ipam']."],
                "version": ["The answer's cniVersion is the configuration's: the runtime reads it by that version."],
                "address": ["An address in an answer has the mask of its subnet: 10.1.0.2/29."],
                "gateway": ["Each of the ips has its gateway: without one, the subnet's .1."],
                "del-fails": ["DEL of what is not there succeeds: status 0."],
                "del-prints": ["DEL has no result: print nothing."],
                "del-needs-netns": [
                    "The node was restarted: the namespace is gone, the lease is not. DEL must work without it.",
                    "CNI_NETNS is required for ADD, not for DEL.",
                ],
            },
            setting="protocol",
        ),
        Check(
            "names-what-is-wrong",
            "A call that cannot succeed ends with status 1, a code and a text, and leaves nothing behind",
            2,
            lambda steps: calls(steps, failure),
            {
                "no container": "call ADD a eth0 without:CNI_CONTAINERID",
                "no namespace": "call ADD a eth0 without:CNI_NETNS; leases",
                "no path": "call ADD a eth0 without:CNI_PATH; call DEL a eth0 without:CNI_PATH",
                "cut off": "call ADD a eth0 cut",
                "a version of tomorrow": "call ADD a eth0 version:9.9.9; leases",
                "no name": "call ADD a eth0 nameless",
                "no such command": "call ADOPT a eth0",
                "full": "; ".join(f"call ADD {name} eth0" for name in "abcdef"),
            },
            badly_called,
            {
                "status": ["A failure ends with a status other than 0: return 1 and the JSON of the error."],
                "no-code": [
                    'Print {"code": ..., "msg": ...}: also a failure is JSON on standard output.',
                    "Is every failure a CNIError by the time it reaches main?",
                ],
                "no-msg": ["The text for people is msg."],
                "code-4": ["4: a required environment variable is missing, or CNI_COMMAND is none that is known."],
                "code-6": ["6: standard input is no JSON. Which exception does json.loads raise?"],
                "code-1": ["1: a cniVersion that the plugin does not speak. Compare before you allocate."],
                "code-7": ["7: the configuration is JSON, and is no network's: its name is missing."],
                "code-999": ["What host-local itself raises has code 999."],
                "left-behind": ["The call failed, and an address is taken. Check everything before you allocate."],
                "frees-others": OTHERS,
            },
            setting="protocol",
        ),
    ),
)
