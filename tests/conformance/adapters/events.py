"""Golden topic `events`: the event correlator on a sequence of events."""

from __future__ import annotations

from typing import Any

from k8slab.client.events import EventCorrelator

__all__ = ["run"]


def run(case_input: dict[str, Any]) -> Any:
    correlator = EventCorrelator()
    results = []
    for number, given in enumerate(case_input["events"]):
        result = correlator.correlate(_event(number, given), round(given["atSeconds"] * 1000))
        if result.skip:
            results.append({"skip": True})
            continue
        assert result.event is not None
        results.append(
            {
                "count": result.event["count"],
                "message": result.event["message"],
                "patched": result.patch is not None,
                "skip": False,
            }
        )
        correlator.update_state(result.event)
    return {"results": results}


def _event(number: int, given: dict[str, Any]) -> dict[str, Any]:
    return {
        "metadata": {"name": f"{given['object']}.{number:x}", "namespace": "default"},
        "involvedObject": {"kind": "Pod", "namespace": "default", "name": given["object"], "apiVersion": "v1"},
        "reason": given["reason"],
        "message": given["message"],
        "source": {"component": given["source"]},
        "type": given.get("type", "Warning"),
        "count": 1,
    }
