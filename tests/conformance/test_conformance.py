"""Every golden file in tests/conformance/data passes, and the comparator is the given one."""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conformance.__main__ import DATA, HERE, ROOT, golden

# The comparator is given; loosening it would make every result worthless.
GIVEN = {
    "compare.py": "da607b579d5a9dc61bd49e40249bf716324df6b1943655b075f0d76f7964a95e",
    "compare_core.py": "ae2592f38d780c421f4922c30e460a863bf43908e02ed3c89ce9a840a35a83e3",
    "compare_timeline.py": "e8f4ae1364505e3c08fad9c9b30dbc0c947ae02a60c07131ecc23e2a187bb854",
    "compare_rules.json": "24ffb4f1da9660e760b1a5ab5386a373d378d6a57699fcb5d0b0108c145a9d19",
}


# Cases that wait for what is not written yet: file -> (what they wait for, their names). They must fail until then.
WAITING = {
    "preemption": (
        "the plugin InterPodAffinity: required anti-affinity decides these",
        {"rand-3", "rand-27", "rand-31", "rand-38", "rand-48", "rand-95"},
    ),
    "sched-preemption": (
        "the plugin InterPodAffinity: required anti-affinity decides in these clusters",
        {
            "1007/hi0",
            "1007/hi1",
            "1007/hi2",
            "1007/events",
            "1018/hi2",
            "1018/events",
            "1023/hi3",
            "1023/events",
            "1024/hi0",
            "1024/hi1",
            "1024/events",
            "1028/hi0",
            "1028/hi1",
            "1028/hi2",
            "1028/hi3",
            "1028/events",
        },
    ),
}


def conformance(*args: str, cwd: Path = ROOT) -> subprocess.CompletedProcess[str]:
    """Run `python tests/conformance ARGS` as a user would, from any folder."""
    command = [sys.executable, str(HERE), *args]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=600, check=False)


@pytest.mark.parametrize("name", GIVEN)
def test_the_comparator_is_the_given_one(name: str) -> None:
    assert hashlib.sha256((HERE / name).read_bytes()).hexdigest() == GIVEN[name]


@pytest.mark.parametrize("file", [f for f in golden([DATA]) if f.stem not in WAITING], ids=lambda file: file.stem)
def test_a_golden_file_passes(file: Path) -> None:
    result = conformance(str(file))
    assert result.returncode == 0, result.stdout + result.stderr[-4000:]


@pytest.mark.parametrize("stem", WAITING)
def test_only_the_cases_differ_that_wait_for_another_part(stem: str) -> None:
    (file,) = [f for f in golden([DATA]) if f.stem == stem]
    result = conformance(str(file), "--limit", "1000")
    why, names = WAITING[stem]
    different = set(re.findall(rf"^{stem}: (\S+): ", result.stdout + result.stderr, re.MULTILINE))
    assert different == names, f"waiting for {why}\n{result.stdout}{result.stderr[-4000:]}"


def test_a_file_outside_the_tree_is_judged_by_its_topic_from_any_folder(tmp_path: Path) -> None:
    doc = json.loads((DATA / "vectors" / "quantity.json").read_text())
    doc["cases"] = doc["cases"][:3]
    (tmp_path / "hidden").mkdir()
    (tmp_path / "hidden" / "more-quantities.json").write_text(json.dumps(doc))
    result = conformance("hidden", cwd=tmp_path)
    assert result.stdout.startswith("more-quantities: 3/3"), result.stdout + result.stderr
    emitted = conformance("hidden", "--emit", cwd=tmp_path)
    assert [json.loads(line)["name"] for line in emitted.stdout.splitlines()] == [c["name"] for c in doc["cases"]]


def test_a_case_whose_adapter_raises_is_named_and_fails_and_the_others_are_judged(tmp_path: Path) -> None:
    doc = json.loads((DATA / "vectors" / "quantity.json").read_text())
    doc["cases"] = [{"name": "broken", "input": {"op": 7}, "expected": {}}, *doc["cases"][:2]]
    (tmp_path / "quantity.json").write_text(json.dumps(doc))
    result = conformance(str(tmp_path / "quantity.json"))
    assert result.returncode == 1
    assert "quantity: 2/3" in result.stdout
    assert "quantity: broken: the adapter raised" in result.stderr


def test_a_file_without_adapter_is_an_error(tmp_path: Path) -> None:
    doc = {"topic": "nobody-knows-it", "cases": [{"name": "a", "input": {}, "expected": 1}]}
    (tmp_path / "nobody-knows-it.json").write_text(json.dumps(doc))
    result = conformance(str(tmp_path / "nobody-knows-it.json"))
    assert result.returncode == 1
    assert "no adapter" in result.stderr and "nobody_knows_it.py" in result.stderr


@pytest.mark.parametrize("args", [["/no/such/file.json"], ["--limit", "many"]], ids=["missing file", "bad limit"])
def test_wrong_usage_exits_2(args: list[str]) -> None:
    assert conformance(*args).returncode == 2
