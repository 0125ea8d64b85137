"""Recorded operation sequences of a real etcd 3.5 (tests/unit/etcd/data/sequences.json)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.unit.etcd.sequences import Client, merged

SEQUENCES = json.loads((Path(__file__).parent / "data" / "sequences.json").read_text())["sequences"]


def run(sequence: dict[str, Any], sync_after_create: bool) -> Client:
    client = Client()
    for recorded in sequence["ops"]:
        if recorded["op"].startswith("lease"):
            continue
        answer = client.run(recorded["op"], recorded["req"])
        assert answer == recorded["res"], f"{recorded['op']} {recorded['req']}"
        if sync_after_create:
            client.store.sync_watchers()
        client.store.check_invariants()
    client.store.sync_watchers()
    return client


@pytest.mark.parametrize("number", range(len(SEQUENCES)), ids=lambda number: f"sequence {number} answers as etcd did")
def test_sequence(number: int) -> None:
    sequence = SEQUENCES[number]
    # etcd feeds an unsynced watcher within 100 ms of real time, so before or after the operations that follow.
    lazy, eager = run(sequence, False), run(sequence, True)
    recorded: dict[int, list[dict[str, Any]]] = {}
    for response in sequence["watch_responses"]:
        recorded.setdefault(response.get("watch_id", 0), []).append(response)
    assert lazy.refused == [each for each in recorded.pop(-1, []) if "cancel_reason" in each]
    for watch_id, responses in recorded.items():
        answers = [merged(client.watch_responses()[watch_id]) for client in (lazy, eager)]
        assert merged(responses) in answers, f"watch {watch_id}"
