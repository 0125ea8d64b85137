"""Committed notebooks, run again, give the very bytes that are stored (nbval checks them cell by cell beside this).

`K8SLAB_NOTEBOOKS` names the notebooks to run (for `make check`: the changed ones); without it all of them run.
"""

from __future__ import annotations

import difflib
import os
from pathlib import Path

import pytest

from k8slab.dev.notebooks import execute, normal_form, write_form
from k8slab.dev.verbs import notebooks

ROOT = Path(__file__).resolve().parents[2]
WANTED = os.environ.get("K8SLAB_NOTEBOOKS")
CHOSEN = notebooks(ROOT) if WANTED is None else [name for name in WANTED.split(os.pathsep) if name]


@pytest.mark.parametrize("name", CHOSEN)
def test_a_notebook_run_again_gives_the_stored_bytes(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JUPYTER_PREFER_ENV_PATH", "1")
    monkeypatch.setenv("PYTHONHASHSEED", "random")
    stored = (ROOT / name).read_text(encoding="utf-8")
    again = write_form(execute(ROOT / name))
    lines = difflib.unified_diff(stored.splitlines(), again.splitlines(), "stored", "run again", lineterm="", n=1)
    assert stored == again, "\n".join(line[:200] for line in list(lines)[:60])


def notebook(outputs: list[dict[str, object]], state: dict[str, object]) -> dict[str, object]:
    widgets = {"widgets": {"application/vnd.jupyter.widget-state+json": {"state": state}}} if state else {}
    cell = {
        "cell_type": "code",
        "execution_count": 1,
        "id": "a",
        "metadata": {"execution": {"iopub.status.busy": "12:00"}},
        "outputs": outputs,
        "source": ["x"],
    }
    info = {"name": "python", "version": "3.12.1"}
    return {"cells": [cell], "metadata": {"language_info": info, **widgets}, "nbformat": 4, "nbformat_minor": 5}


def view(model: str) -> dict[str, object]:
    data = {"application/vnd.jupyter.widget-view+json": {"model_id": model}, "text/plain": [f"Stepper({model})"]}
    return {"output_type": "display_data", "data": data, "metadata": {}}


def test_model_ids_are_numbered_by_first_use_then_reference_then_content() -> None:
    def models(one: str, two: str, child: str, lost: str) -> dict[str, object]:
        state = {lost: {"state": {}}, two: {"state": {"n": 2}}, child: {"state": {"c": 1}}}
        return notebook([view(one), view(two)], {**state, one: {"state": {"box": f"IPY_MODEL_{child}"}}})

    first = normal_form(models(*(letter * 32 for letter in "abcd")))
    again = normal_form(models(*(letter * 32 for letter in "4321")))
    assert write_form(first) == write_form(again)
    state = first["metadata"]["widgets"]["application/vnd.jupyter.widget-state+json"]["state"]
    assert list(state) == [f"{number:032x}" for number in range(4)]
    assert state[f"{0:032x}"]["state"]["box"] == f"IPY_MODEL_{1:032x}"


def test_times_versions_addresses_and_the_cutting_of_streams_are_not_stored() -> None:
    def printed(*pieces: str) -> list[dict[str, object]]:
        return [{"output_type": "stream", "name": "stdout", "text": [piece]} for piece in pieces]

    whole = normal_form(notebook(printed("one\ntwo <x at 0x7fa1b2c3d4>\n"), {}))
    cut = normal_form(notebook(printed("on", "e\ntwo <x at 0x55d0c1e2f3>\n"), {}))
    assert write_form(whole) == write_form(cut)
    assert "3.12" not in write_form(whole) and "12:00" not in write_form(whole)


def test_what_the_code_computed_stays() -> None:
    result = {"output_type": "execute_result", "data": {"text/plain": ["{'b': 1, 'a': 2}"]}, "metadata": {}}
    assert normal_form(notebook([result], {}))["cells"][0]["outputs"] == [result]
