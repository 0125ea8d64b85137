"""Every lab keeps what labs promise. Too slow for every hour: `make check` leaves this folder out."""

from __future__ import annotations

import pytest

from k8slab.lab import Lab, labs
from k8slab.lab.kit import LEAST_MACHINE_MUTANTS, check_kit
from tests.counts import SOAK


@pytest.mark.parametrize("lab", labs(), ids=lambda lab: lab.name)
def test_a_lab_is_sound(lab: Lab) -> None:
    found = check_kit(lab, machine_step=1 if SOAK else 5)
    assert found.problems == [], str(found)
    assert found.machine >= LEAST_MACHINE_MUTANTS
    assert found.killed == len(lab.mutants()) > 2
