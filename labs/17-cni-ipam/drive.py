"""Plays operations on a learner's plugin. Runs in the child, next to the learner's code; knows nothing of what is
right.

`addresses 10.1.0.0/29 - 10.1.0.5 -` asks which addresses a range has (subnet, rangeStart, rangeEnd, gateway; `-`: not
given). `range 10.1.0.0/29` adds a range set to the network's configuration; without one there is 10.1.0.0/29. `add c1
eth0` and `del c1 eth0` call the plugin as a runtime would, each time a new one on the same folder of files; `leases`
and `files` look into it, `torn 10.1.0.3` leaves an empty file there, as a crash does. `call ADD c1 eth0
without:CNI_NETNS` starts the whole program, with something wrong.
"""

import json
from copy import deepcopy

DEFAULT = "10.1.0.0/29"
FOLDER_FULL = 400


def _short(found):
    shown = isinstance(found, (int, float, str, list, tuple, dict, type(None)))
    return repr(found)[:60] if shown else f"a {type(found).__name__}"


def _is_address(name):
    return bool(name) and all(c in "0123456789abcdef.:" for c in name) and ("." in name or ":" in name)


class Folder(dict):
    """Files by name. Only texts can be stored."""

    def __setitem__(self, name, content):
        if not isinstance(name, str) or not isinstance(content, str):
            raise TypeError(f"files: expected texts for name and content, found {_short(name)} and {_short(content)}")
        if len(self) >= FOLDER_FULL:
            raise OSError("files: no space left on device")
        super().__setitem__(name, content)


def _is_data(value, own):
    """Whether it is what a program remembers: plain values, objects of its `own` classes, and lists of both."""
    if isinstance(value, dict):
        return all(_is_data(one, own) for pair in value.items() for one in pair)
    if isinstance(value, (list, tuple, set, frozenset)):
        return all(_is_data(one, own) for one in value)
    plain = (int, float, str, bytes, bytearray, type(None))
    return isinstance(value, plain) or type(value).__module__ == own


class Processes:
    """Each call of a plugin is a process of its own: it finds what its classes, functions and module held when they
    were made, and nothing of what an earlier one kept there."""

    def __init__(self, learner):
        self.name = learner["__name__"]
        own = [one for one in learner.values() if isinstance(one, type) and one.__module__ == self.name]
        found = [one for kind in own for one in vars(kind).values()] + list(learner.values())
        functions = [one for one in found if isinstance(one, type(_is_data)) and one.__globals__ is learner]
        self.module, self.data = learner, self._data(learner)
        self.held = [(kind, set(vars(kind)), self._data(vars(kind))) for kind in own]
        self.usual = [(one, deepcopy(one.__defaults__)) for one in functions if _is_data(one.__defaults__, self.name)]

    def _data(self, owner):
        return {
            name: deepcopy(value) for name, value in owner.items() if name[:2] != "__" and _is_data(value, self.name)
        }

    def start(self):
        for name in self._data(self.module):
            del self.module[name]
        self.module.update(deepcopy(self.data))
        for kind, names, data in self.held:
            for name in set(vars(kind)) - names:
                delattr(kind, name)
            for name, value in deepcopy(data).items():
                setattr(kind, name, value)
        for function, defaults in self.usual:
            function.__defaults__ = deepcopy(defaults)
            vars(function).clear()


class Player:
    """One network on one node."""

    def __init__(self, names):
        self.learner = names
        self.processes = Processes(names)
        self.files = Folder()
        self.ranges = []

    # -- what is handed over ---------------------------------------------------------------------

    def ipam(self):
        return {"type": "host-local", "ranges": [[{"subnet": one}] for one in self.ranges or [DEFAULT]]}

    def range(self, subnet):
        self.ranges.append(subnet)
        return "ok"

    def torn(self, address):
        """A file that was made and never written; not over one that is there."""
        if address in self.files:
            return "there"
        self.files[address] = ""
        return "ok"

    # -- questions -------------------------------------------------------------------------------

    def addresses(self, subnet, start, end, gateway):
        given = {"subnet": subnet, "rangeStart": start, "rangeEnd": end, "gateway": gateway}
        given = {key: value for key, value in given.items() if value != "-"}
        found = self.learner["addresses"](given)
        if not isinstance(found, (list, tuple)) or not all(isinstance(one, str) for one in found):
            raise TypeError(f"addresses: expected a list of texts, found {_short(found)}")
        return " ".join(found[:40]) or "none"

    def _plugin(self, who, container, ifname):
        config = self.ipam()
        before = deepcopy(config)
        self.processes.start()
        plugin = self.learner["HostLocal"](self.files)
        failed, found = "", None
        try:
            found = getattr(plugin, who)(config, container, ifname)
        except self.learner["CNIError"] as error:
            failed = f"error {error.code}"
        if config != before:
            raise TypeError(f"{who}: changed the configuration it was handed")
        return failed, found

    def add(self, container, ifname):
        failed, found = self._plugin("add", container, ifname)
        return failed or " ".join(_addresses_of(found, "add")) or "nothing"

    def delete(self, container, ifname):
        failed, _ = self._plugin("delete", container, ifname)
        return failed or "ok"

    def leases(self):
        """The files that are named after an address."""
        return " ".join(sorted(name for name in self.files if _is_address(name))) or "none"

    def show(self):
        shown = sorted(f"{name}={content!r}" for name, content in self.files.items())
        return " ".join(shown).replace("'", "") or "none"

    def call(self, command, container, ifname, wrong="nothing"):
        env = {"CNI_COMMAND": command, "CNI_CONTAINERID": container, "CNI_NETNS": f"/run/netns/{container}"}
        env |= {"CNI_IFNAME": ifname, "CNI_PATH": "/opt/cni/bin"}
        config = {"cniVersion": "1.1.0", "name": "pods", "type": "bridge", "ipam": self.ipam()}
        what, _, which = wrong.partition(":")
        if what == "without":
            del env[which]
        elif what == "version":
            config["cniVersion"] = which
        elif what == "nameless":
            del config["name"]
        stdin = json.dumps(config)
        self.processes.start()
        found = self.learner["main"](env, stdin[:-9] if what == "cut" else stdin, self.files)
        if not isinstance(found, (list, tuple)) or len(found) != 2 or type(found[0]) is not int:
            raise TypeError(f"main: expected (exit status, what is printed), found {_short(found)}")
        status, printed = found
        if not isinstance(printed, str):
            raise TypeError(f"main: expected a text to print, found {_short(printed)}")
        return f"{status} {_read(printed)}"


def _addresses_of(found, who):
    if not isinstance(found, (list, tuple)):
        raise TypeError(f"{who}: expected a list of ips, found {_short(found)}")
    for one in found:
        if not isinstance(one, dict) or not isinstance(one.get("address"), str):
            raise TypeError(f'{who}: expected {{"address": ..., "gateway": ...}}, found {_short(one)}')
    return [one["address"] for one in found]


def _read(printed):
    """What a runtime reads of it."""
    if not printed.strip():
        return "prints nothing"
    try:
        answer = json.loads(printed)
    except ValueError:
        return "prints no JSON"
    if not isinstance(answer, dict):
        return "prints no object"
    if "code" in answer:
        has_text = isinstance(answer.get("msg"), str) and bool(answer["msg"])
        return f"code {answer['code']}{'' if has_text else ' without msg'}"
    version = answer.get("cniVersion", "no version")
    if not isinstance(answer.get("ips"), list):
        return f"{version} without ips"
    ips = " ".join(f"{one.get('address')} via {one.get('gateway')}" for one in answer["ips"] if isinstance(one, dict))
    return f"{version} {ips or 'no ips'}"


def drive(names, setting):
    player = Player(names)
    verbs = {"del": "delete", "files": "show"}
    return lambda verb, *words: getattr(player, verbs.get(verb, verb))(*words)
