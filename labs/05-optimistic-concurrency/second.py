"""Another correct solution, built otherwise: recursion on the server, a counted for loop with the last try outside of
it for the client, a copy of the object instead of a change in it."""

from k8slab.api.errors import ConflictError


async def guaranteed_update(store, key, change):
    before = await store.get(key)
    new = change(before[0])
    if new != before[0]:
        try:
            await store.put(key, new, before[1])
        except ConflictError:
            return await guaranteed_update(store, key, change)
    return new


async def retry_on_conflict(attempt, sleep, steps=5, delay_ms=10):
    for _ in range(steps - 1):
        try:
            result = await attempt()
        except ConflictError:
            await sleep(delay_ms)
        else:
            return result
    return await attempt()


class _Setting:
    def __init__(self, api, name, changes):
        self.api, self.name, self.changes = api, name, changes

    async def __call__(self):
        found = await self.api.get(self.name)
        return await self.api.update({**found, "data": {**found["data"], **self.changes}})


async def set_field(api, sleep, name, field, value):
    return await retry_on_conflict(_Setting(api, name, {field: value}), sleep)
