"""The trace keeps events compactly and gives them out whole."""

import json

import pytest

from k8slab.sim import Clock, Trace


def trace_of(count: int, keep: int | None = None) -> Trace:
    trace = Trace(Clock(), keep=keep)
    for number in range(count):
        trace.clock.now_ms = 10 * number
        trace.emit(
            "k.even" if number % 2 == 0 else "k.odd", "you", number=number, **({"x": None} if number % 2 else {})
        )
    return trace


def test_an_event_comes_out_with_the_data_it_was_emitted_with() -> None:
    trace = trace_of(4)
    assert [(event.seq, event.now_ms, event.kind, event.data, event.cause) for event in trace] == [
        (0, 0, "k.even", {"number": 0}, None),
        (1, 10, "k.odd", {"number": 1, "x": None}, 0),
        (2, 20, "k.even", {"number": 2}, 1),
        (3, 30, "k.odd", {"number": 3, "x": None}, 2),
    ]
    assert trace[2] == list(trace)[2]
    assert trace.actor_of(3) == "you"


def test_a_listener_is_handed_the_same_event() -> None:
    trace = Trace(Clock())
    seen = []
    trace.listeners.append(seen.append)
    trace.emit("k", "you", also=(5, 6), a=1, b="two")
    assert seen == [trace[0]]
    assert seen[0].data == {"a": 1, "b": "two"} and seen[0].also == (5, 6)


def test_at_most_sixteen_further_causes_are_kept() -> None:
    trace = Trace(Clock())
    trace.emit("k", "you", also=tuple(range(40)))
    assert trace[0].also == tuple(range(16))


@pytest.mark.parametrize(
    ("seq", "numbers"),
    [(0, [4, 5, 6]), (4, [4, 5, 6]), (6, [6]), (7, []), (99, [])],
    ids=[
        "events that are gone are left out",
        "from the first kept one on it is all",
        "from the last one on it is one",
        "from the next one on it is none",
        "from the far future on it is none",
    ],
)
def test_since_gives_what_is_kept_from_a_number_on(seq: int, numbers: list[int]) -> None:
    assert [event.seq for event in trace_of(7, keep=3).since(seq)] == numbers


def test_events_that_are_no_longer_kept_are_key_errors() -> None:
    trace = trace_of(7, keep=3)
    assert (len(trace), [event.seq for event in trace]) == (3, [4, 5, 6])
    assert trace[4].data == {"number": 4}
    for seq in (-1, 3, 7):
        with pytest.raises(KeyError, match=f"event {seq} is not kept: the trace holds 4 to 6"):
            trace[seq]
        with pytest.raises(KeyError):
            trace.actor_of(seq)


def test_the_lines_are_json_with_sorted_keys() -> None:
    trace = Trace(Clock())
    trace.emit("k", "you", b=1, a=True)
    line = trace.to_jsonl()
    assert line == (
        '{"action":0,"actor":"you","also":[],"cause":null,"data":{"a":true,"b":1},"kind":"k","now_ms":0,"seq":0}\n'
    )
    assert json.loads(line)["data"] == {"a": True, "b": 1}
