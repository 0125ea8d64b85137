"""Another correct solution, built otherwise: one record a gang, with who waits since when and who was let go."""

from typing import NamedTuple


class Gang(NamedTuple):
    waits: dict
    goes: set


class GangPermit:
    def __init__(self, wait_ms):
        self._wait_ms = wait_ms
        self._gangs = {}

    def _gang(self, name):
        return self._gangs.setdefault(name, Gang({}, set()))

    def permit(self, gang, need, pod, now_ms):
        waits, goes = self._gang(gang)
        if pod in goes:
            return [pod]
        waits[pod] = min(now_ms, waits.get(pod, now_ms))
        if len(goes | set(waits)) < need:
            return []
        go = list(waits)
        goes.update(go)
        waits.clear()
        return go

    def tick(self, now_ms):
        back = []
        for waits, _ in self._gangs.values():
            if waits and min(waits.values()) <= now_ms - self._wait_ms:
                back += waits
                waits.clear()
        return back

    def unreserve(self, pod):
        for waits, goes in self._gangs.values():
            if pod not in waits and pod not in goes:
                continue
            goes.discard(pod)
            back = [one for one in waits if one != pod]
            waits.clear()
            return back
        return []

    def waiting(self):
        return [pod for waits, _ in self._gangs.values() for pod in waits]

    def count(self, gang):
        waits, goes = self._gang(gang)
        return len(waits) + len(goes)
