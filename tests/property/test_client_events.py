"""The event correlator against what its rules promise."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from k8slab.client import EventCorrelator
from tests.counts import examples

SEQUENCES = st.lists(
    st.tuples(st.integers(0, 400), st.sampled_from("pq"), st.sampled_from("AB"), st.integers(0, 14)),
    max_size=120,
)
"""(seconds since the one before, object, reason, message)"""


def event(name: str, reason: str, message: str) -> dict[str, Any]:
    return {
        "metadata": {"name": f"{name}.1", "namespace": "d"},
        "involvedObject": {"kind": "Pod", "namespace": "d", "name": name},
        "source": {"component": "kubelet"},
        "type": "Warning",
        "reason": reason,
        "message": message,
        "count": 1,
    }


@settings(max_examples=examples(150))
@given(SEQUENCES)
def test_a_source_says_no_more_about_an_object_than_its_budget(sequence: list[tuple[int, str, str, int]]) -> None:
    correlator, now_s = EventCorrelator(), 0
    passed: dict[str, list[int]] = {"p": [], "q": []}
    for gap_s, name, reason, message in sequence:
        now_s += gap_s
        result = correlator.correlate(event(name, reason, f"m{message}"), now_s * 1000)
        correlator.check_invariants()
        if not result.skip:
            passed[name].append(now_s)
            assert result.event is not None
            assert (result.patch is not None) == (result.event["count"] > 1)
            if result.patch is not None:
                assert result.patch["count"] == result.event["count"]
    for times in passed.values():
        for first in range(len(times)):
            for last in range(first, len(times)):
                assert last - first + 1 <= 25 + (times[last] - times[first]) / 300 + 1e-3


@settings(max_examples=examples(150))
@given(st.lists(st.tuples(st.integers(0, 400), st.sampled_from("pq"), st.integers(0, 8)), max_size=80))
def test_as_long_as_messages_are_few_an_event_counts_how_often_it_happened(
    sequence: list[tuple[int, str, int]],
) -> None:
    correlator, now_s = EventCorrelator(burst=10_000), 0
    seen: dict[tuple[str, int], int] = {}
    for gap_s, name, message in sequence:
        now_s += gap_s
        seen[(name, message)] = seen.get((name, message), 0) + 1
        result = correlator.correlate(event(name, "R", f"m{message}"), now_s * 1000)
        assert result.event is not None
        assert (result.event["count"], result.event["message"]) == (seen[(name, message)], f"m{message}")
        correlator.update_state(result.event)
