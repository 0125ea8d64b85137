"""Karpenter as steps: operations, what is told, what the picture shows."""

from __future__ import annotations

from typing import Any

import pytest

from k8slab.autoscaling.cloud import small_catalogue
from k8slab.autoscaling.karpenter import KarpenterStory, dollars
from tests.karpenter import CAPACITY_TYPE, node_pool, rule

SPOT_ONLY = rule(CAPACITY_TYPE, "In", "spot")


def story(*operations: str, **more: Any) -> KarpenterStory:
    pool = node_pool("default", SPOT_ONLY, disruption={"budgets": [{"nodes": "100%"}]})
    return KarpenterStory([pool], small_catalogue(), operations, **more)


def played(*operations: str) -> KarpenterStory:
    made = story(*operations)
    while made.step():
        pass
    return made


def sentences(made: KarpenterStory) -> list[str]:
    return [event.message for event in made.trace]


def test_every_step_is_something_that_happened() -> None:
    made = story("scale web 2 cpu=500m", "wait 3m")
    count = len(made.trace)
    while made.step():
        assert len(made.trace) > count
        count = len(made.trace)
        now = made.view()["consolidation"]["now_ms"]
        assert now == made.clock.now_ms
    assert made.clock.now_ms == 180_000


def test_the_picture_counts_what_there_is() -> None:
    row = played("scale web 2 cpu=500m memory=1Gi", "wait 2m").view()["consolidation"]["nodes"]["default-1"]
    assert (row["stage"], row["kind"], row["goes"], row["cpu"]["used"]) == ("Initialized", "spot", False, 1_000)
    assert row["pods"] == {"web-1": 500, "web-2": 500}


def test_an_interruption_is_told_and_acted_on() -> None:
    made = played("scale web 1", "wait 2m", "interrupt default-1", "wait 3m")
    told = sentences(made)
    assert "the cloud says that default-1 will be taken back in two minutes" in told
    assert any(line.startswith("Karpenter on default-1: SpotInterrupted") for line in told)
    assert list(made.view()["consolidation"]["nodes"]) == ["default-2"]


def test_a_protected_pod_keeps_its_node() -> None:
    made = played("scale web 6 cpu=900m", "wait 2m", "scale web 0", "scale train 1 cpu=100m protect=true", "wait 10m")
    assert list(made.view()["consolidation"]["nodes"]) == ["default-1"]
    assert any('pod has "karpenter.sh/do-not-disrupt" annotation' in line for line in sentences(made))


def test_a_deleted_claim_is_drained_and_replaced() -> None:
    made = played("scale web 1", "wait 2m", "delete default-1", "wait 3m")
    assert list(made.view()["consolidation"]["nodes"]) == ["default-2"]


@pytest.mark.parametrize(
    ("operation", "message"),
    [
        pytest.param("paint it red", "expected one of scale NAME REPLICAS", id="an unknown verb"),
        pytest.param("scale web", "expected one of scale NAME", id="no number"),
        pytest.param("scale web many", "expected scale NAME REPLICAS", id="a number that is none"),
        pytest.param("scale web 1 disk=1Gi", "expected scale NAME REPLICAS", id="an unknown word"),
        pytest.param("scale web 1 cpu=lots", "quantities must match", id="no quantity"),
        pytest.param("wait 5 minutes", "expected wait DURATION", id="a duration in words"),
        pytest.param("wait soon", 'time: invalid duration "soon"', id="no duration"),
    ],
)
def test_operations_are_read_before_anything_happens(operation: str, message: str) -> None:
    with pytest.raises(ValueError) as refused:
        story("scale web 1", operation)
    assert message in str(refused.value)


def test_what_cannot_be_done_now_is_refused() -> None:
    made = story()
    with pytest.raises(ValueError, match="interrupt default-9: no live instance has this name"):
        made.command("interrupt default-9")
    with pytest.raises(ValueError, match="nodeclaim 'default-9': not known"):
        made.command("delete default-9")


def test_prices_are_written_to_a_tenth_of_a_cent() -> None:
    assert dollars(192_000) == "0.192"
