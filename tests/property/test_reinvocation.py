"""Which webhooks are asked twice, against a twin that says it in words."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from k8slab.apiserver.admission.webhook.reinvocation import Reinvocations

HOOK = st.tuples(st.booleans(), st.booleans(), st.booleans())  # reinvocable, changes in round 1, changes in round 2


def ours(hooks: list[tuple[bool, bool, bool]], is_repaired: bool) -> list[list[int]]:
    """The calls of both rounds; the second only when somebody asked for it."""
    memory, obj, rounds, wanted = Reinvocations(), 0, [], False
    for number in (0, 1):
        if number == 1:
            if not wanted:
                break
            obj += is_repaired
        memory.begin(obj, is_second=number == 1)
        called = []
        for index, (is_reinvocable, *changes) in enumerate(hooks):
            if number == 1 and not memory.should_call(index):
                continue
            called.append(index)
            if changes[number]:
                obj += 1
                memory.require()
                wanted = True
            if is_reinvocable:
                memory.called(index)
        memory.end(obj)
        rounds.append(called)
    return rounds


def twin(hooks: list[tuple[bool, bool, bool]], is_repaired: bool) -> list[list[int]]:
    """A webhook is asked again if it may be, and anything changed the object between its call and its turn."""
    first = list(range(len(hooks)))
    changes = [index for index, hook in enumerate(hooks) if hook[1]]
    if not changes:
        return [first]
    second, changed_in_second = [], is_repaired
    for index, (is_reinvocable, _, changes_again) in enumerate(hooks):
        after_its_call = any(later > index for later in changes)
        if is_reinvocable and (after_its_call or changed_in_second):
            second.append(index)
            changed_in_second = changed_in_second or changes_again
    return [first, second]


@given(st.lists(HOOK, max_size=6), st.booleans())
def test_reinvocation_equals_its_twin(hooks: list[tuple[bool, bool, bool]], is_repaired: bool) -> None:
    assert ours(hooks, is_repaired) == twin(hooks, is_repaired)
