"""Another correct solution, built otherwise: numbers for addresses, everything checked before anything is written."""

import json
from ipaddress import ip_address, ip_network

VERSIONS = ("0.1.0", "0.2.0", "0.3.0", "0.3.1", "0.4.0", "1.0.0", "1.1.0")


class CNIError(Exception):
    def __init__(self, msg, code=999):
        super().__init__(msg)
        self.msg, self.code = msg, code


def bounds(given):
    subnet = ip_network(given["subnet"])
    size = subnet.num_addresses
    first = int(subnet.network_address)
    low = int(ip_address(given["rangeStart"])) if given.get("rangeStart") else first + 1
    usual = first + size - (1 if subnet.version == 6 else 2)
    high = int(ip_address(given["rangeEnd"])) if given.get("rangeEnd") else usual
    gateway = int(ip_address(given["gateway"])) if given.get("gateway") else first + 1
    return subnet, low, high, gateway


def addresses(given):
    subnet, low, high, gateway = bounds(given)
    kind = type(subnet.network_address)
    numbers = set(range(low, high + 1)) - {gateway}
    return [str(kind(number)) for number in sorted(numbers)]


class HostLocal:
    def __init__(self, files):
        self.folder = files

    def add(self, config, container, ifname):
        mine = "\r\n".join((container, ifname))
        for name, content in self.folder.items():
            if content == mine:
                raise CNIError(f"{name} has been allocated to {container}, duplicate allocation is not allowed")
        plan = []
        for place, ranges in enumerate(config["ranges"]):
            found = self.next_free(place, ranges[0])
            if found is None:
                raise CNIError(f"failed to allocate for range {place}: no IP addresses available in range set")
            plan.append(found)
        answer = []
        for place, (address, ranges) in enumerate(zip(plan, config["ranges"], strict=True)):
            self.folder[address] = mine
            self.folder["last_reserved_ip." + str(place)] = address
            subnet, _, _, gateway = bounds(ranges[0])
            via = type(subnet.network_address)(gateway)
            answer.append({"address": f"{address}/{subnet.prefixlen}", "gateway": str(via)})
        return answer

    def next_free(self, place, given):
        before = self.folder.get("last_reserved_ip." + str(place), "")
        all_of_them = addresses(given)
        start = 1 + all_of_them.index(before) if before in all_of_them else 0
        for step in range(len(all_of_them)):
            address = all_of_them[(start + step) % len(all_of_them)]
            if address not in self.folder:
                return address
        return None

    def delete(self, config, container, ifname):
        mine = "\r\n".join((container, ifname))
        for name in [name for name, content in self.folder.items() if content == mine]:
            self.folder.pop(name)


NEEDED = {
    "ADD": ("CNI_CONTAINERID", "CNI_NETNS", "CNI_IFNAME", "CNI_PATH"),
    "DEL": ("CNI_CONTAINERID", "CNI_IFNAME", "CNI_PATH"),
}


def answer(env, stdin, files):
    command = env.get("CNI_COMMAND")
    if not command:
        raise CNIError("required env variables [CNI_COMMAND] missing", 4)
    if command not in NEEDED:
        raise CNIError("unknown CNI_COMMAND: " + command, 4)
    lacking = ",".join(name for name in NEEDED[command] if not env.get(name))
    if lacking:
        raise CNIError(f"required env variables [{lacking}] missing", 4)
    try:
        config = json.loads(stdin)
    except ValueError as problem:
        raise CNIError(f"error unmarshall network config: {problem}", 6) from None
    if not config.get("name"):
        raise CNIError("missing network name", 7)
    version = config.get("cniVersion") or "0.1.0"
    if version not in VERSIONS:
        raise CNIError("incompatible CNI versions", 1)
    plugin = HostLocal(files)
    if command == "DEL":
        plugin.delete(config["ipam"], env["CNI_CONTAINERID"], env["CNI_IFNAME"])
        return ""
    ips = plugin.add(config["ipam"], env["CNI_CONTAINERID"], env["CNI_IFNAME"])
    return json.dumps({"cniVersion": version, "ips": ips})


def main(env, stdin, files):
    try:
        return 0, answer(env, stdin, files)
    except CNIError as error:
        return 1, json.dumps({"code": error.code, "msg": error.msg})
