"""What an event is called: one action, several, or every kind of update."""

from __future__ import annotations

import pytest

from k8slab.scheduler import Framework
from k8slab.scheduler.framework import ActionType, ClusterEvent, EventResource


@pytest.mark.parametrize(
    ("action", "label"),
    [
        (ActionType.ADD, "NodeAdd"),
        (ActionType.ADD | ActionType.UPDATE_NODE_TAINT, "NodeAdd|UpdateNodeTaint"),
        (ActionType.ADD | ActionType.UPDATE, "NodeAdd|Update"),
        (ActionType.UPDATE, "NodeUpdate"),
        (ActionType.ALL, "NodeAll"),
    ],
)
def test_an_event_of_several_actions_names_them_all(action: ActionType, label: str) -> None:
    assert ClusterEvent(EventResource.NODE, action).label == label


def test_every_event_that_a_default_plugin_registers_has_a_label() -> None:
    registered = [
        entry.event for entries in Framework.from_profile().events_to_register().values() for entry in entries
    ]
    assert all(event.label.startswith(event.resource) and event.label != event.resource for event in registered)
