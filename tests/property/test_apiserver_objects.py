"""Random creates, updates, patches and deletes against a dict: what is stored, refused, listed and watched."""

from __future__ import annotations

from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from k8slab.api.errors import StatusError
from k8slab.api.scheme import CONFIGMAPS
from k8slab.api.transport import MERGE_PATCH, Request, StreamClosedError
from k8slab.apiserver import APIServer
from k8slab.etcd import Store
from k8slab.sim import Loop, Shuffle
from tests.counts import examples

NAMES = st.sampled_from("ab")
VALUES = st.sampled_from(["1", "2", "3"])


class Objects(RuleBasedStateMachine):
    """The model: name -> (value, resourceVersion, finalizers, is being deleted)."""

    @initialize(seed=st.integers(0, 9))
    def begin(self, seed: int) -> None:
        self.loop = Loop(seed=seed)
        self.loop.order = Shuffle(self.loop.stream("order"))
        self.etcd = Store()
        self.server = APIServer(self.loop, self.etcd)
        self.you = self.server.transport("you")
        self.model: dict[str, tuple[str, str, bool, bool]] = {}
        self.seen: dict[str, Any] = {}
        self.loop.run(for_ms=10)
        self.loop.spawn("watcher", self.follow())
        self.loop.run(for_ms=10)
        for name in "ab":
            self.create(name, "1", name == "a")

    async def follow(self) -> None:
        stream = await self.you.watch(Request("watch", CONFIGMAPS, params={"resourceVersion": "0"}))
        try:
            while True:
                event = await stream.next()
                name = event.object["metadata"]["name"]
                if event.type == "DELETED":
                    del self.seen[name]
                else:
                    assert (event.type == "ADDED") == (name not in self.seen)
                    self.seen[name] = event.object
        except StreamClosedError:
            return

    def ask(self, verb: str, name: str, body: Any = None, **fields: Any) -> Any:
        """(code, object or None)."""
        outcome: list[Any] = []

        async def call() -> None:
            try:
                request = Request(verb, CONFIGMAPS, namespace="default", name=name, body=body, **fields)
                outcome.append((200, await self.you.call(request)))
            except StatusError as error:
                outcome.append((error.code, None))

        self.loop.spawn("you", call())
        self.loop.run(for_ms=5)
        return outcome[0]

    def remember(self, name: str, obj: Any) -> None:
        metadata = obj["metadata"]
        deleting = "deletionTimestamp" in metadata
        value = obj["data"]["v"]
        self.model[name] = (value, metadata["resourceVersion"], bool(metadata.get("finalizers")), deleting)

    @rule(name=NAMES, value=VALUES, held=st.booleans())
    def begin_again(self, name: str, value: str, held: bool) -> None:
        self.create(name, value, held)

    def create(self, name: str, value: str, held: bool) -> None:
        metadata = {"name": name, **({"finalizers": ["ex.io/hold"]} if held else {})}
        code, obj = self.ask("create", "", {"metadata": metadata, "data": {"v": value}})
        assert code == (409 if name in self.model else 200)
        if obj is not None:
            self.remember(name, obj)

    @rule(name=NAMES, value=VALUES, base=st.sampled_from(["none", "current", "stale"]))
    def put(self, name: str, value: str, base: str) -> None:
        known = self.model.get(name)
        metadata: dict[str, Any] = {"name": name}
        if known is not None and known[2]:
            metadata["finalizers"] = ["ex.io/hold"]
        if base != "none":
            metadata["resourceVersion"] = known[1] if known is not None and base == "current" else "1"
        code, obj = self.ask("update", name, {"metadata": metadata, "data": {"v": value}})
        if known is None:
            assert code == 404
        elif base == "stale":
            assert code == 409
        else:
            assert code == 200 and obj["data"]["v"] == value
            assert (obj["metadata"]["resourceVersion"] == known[1]) == (value == known[0])
            self.remember(name, obj)

    @precondition(lambda self: self.model)
    @rule(name=NAMES, value=VALUES)
    def patch(self, name: str, value: str) -> None:
        code, obj = self.ask("patch", name, {"data": {"v": value}}, patch_type=MERGE_PATCH)
        assert code == (200 if name in self.model else 404)
        if obj is not None:
            self.remember(name, obj)

    @precondition(lambda self: any(known[2] for known in self.model.values()))
    @rule(name=NAMES)
    def release(self, name: str) -> None:
        code, _ = self.ask("patch", name, {"metadata": {"finalizers": None}}, patch_type=MERGE_PATCH)
        known = self.model.get(name)
        assert code == (200 if known is not None else 404)
        if known is not None and known[3]:
            del self.model[name]
        elif known is not None:
            self.remember(name, self.ask("get", name)[1])

    @precondition(lambda self: self.model)
    @rule(name=NAMES)
    def delete(self, name: str) -> None:
        code, obj = self.ask("delete", name)
        known = self.model.get(name)
        assert code == (200 if known is not None else 404)
        if known is not None and known[2]:
            self.remember(name, obj)
            assert self.model[name][3]
        elif known is not None:
            assert obj["kind"] == "Status"
            del self.model[name]

    @invariant()
    def everybody_agrees(self) -> None:
        if not hasattr(self, "model"):
            return
        for params in ({}, {"resourceVersion": "0"}):
            listed = self.ask("list", "", params=params)[1]["items"]
            found = {o["metadata"]["name"]: (o["data"]["v"], o["metadata"]["resourceVersion"]) for o in listed}
            assert found == {name: known[:2] for name, known in self.model.items()}
        watched = {n: (o["data"]["v"], o["metadata"]["resourceVersion"]) for n, o in self.seen.items()}
        assert watched == {name: known[:2] for name, known in self.model.items()}
        self.server.check_invariants()
        self.etcd.check_invariants()

    def teardown(self) -> None:
        if hasattr(self, "loop"):
            self.loop.close()


Objects.TestCase.settings = settings(max_examples=examples(40), stateful_step_count=30, deadline=None)
TestObjects = Objects.TestCase
