"""The status page counts what is there; the deviations page says what the modules say."""

from __future__ import annotations

import json
from pathlib import Path

import yaml

from k8slab.dev import generated, glossary, status
from tests.unit.lab.toy import write_toy

ROOT = Path(__file__).resolve().parents[3]


def test_every_chapter_of_the_table_of_contents_is_there_with_its_questions() -> None:
    toc = yaml.safe_load((ROOT / "book/_toc.yml").read_text(encoding="utf-8"))
    parts = [part for part in toc["parts"] if part["caption"] != "Reference"]
    listed = [chapter["file"] for part in parts for chapter in part["chapters"]]
    names = [toc["root"], *(name for name in listed if not name.startswith("book/labs/"))]
    labs = sorted(path.parent.name for path in (ROOT / "labs").glob("*/checks.py"))
    assert [name.rpartition("/")[2] for name in listed if name.startswith("book/labs/")] == labs
    found = {chapter.name: chapter for chapter in status.chapters(ROOT)}
    assert list(found) == names
    banks = {path.stem: path.read_text(encoding="utf-8") for path in (ROOT / "book/quizzes").glob("*.yml")}
    counted = {name: banks.get(Path(name).name, "").count("\n  - id: ") for name in names}
    assert {name: chapter.questions for name, chapter in found.items()} == counted
    assert sum(counted.values()) == sum(text.count("\n  - id: ") for text in banks.values()), "a bank without a chapter"


def test_every_notebook_has_a_measured_time() -> None:
    times = status.seconds(ROOT)
    chapters = [chapter for chapter in status.chapters(ROOT) if (ROOT / f"{chapter.name}.ipynb").exists()]
    assert [chapter.name for chapter in chapters if not chapter.seconds] == [], "python -m k8slab.dev notebook FILE"
    assert all(isinstance(took, int) for took in times.values())


def book(root: Path) -> Path:
    (root / "book/start").mkdir(parents=True)
    (root / "book/reference").mkdir()
    chapters = [{"file": "book/start/one"}, {"file": "book/start/two"}]
    toc = {"root": "book/intro", "parts": [{"caption": "Start", "chapters": chapters}]}
    (root / "book/_toc.yml").write_text(yaml.safe_dump(toc))
    (root / "book/intro.md").write_text("# The book\n\nWords.\n")
    for name, question in (("one", "**Who\ncalls?**"), ("two", "No question.")):
        cells = [{"cell_type": "markdown", "source": [f"# {name.title()}\n", "\n", question]}]
        cells += [{"cell_type": "code", "source": ["x\n"]}] * 3
        (root / f"book/start/{name}.ipynb").write_text(json.dumps({"cells": cells}))
    return root


def test_times_are_rounded_up_and_those_of_lost_notebooks_dropped(tmp_path: Path) -> None:
    root = book(tmp_path)
    status.record(root, {"book/start/one.ipynb": 2.1, "book/start/gone.ipynb": 9.0})
    status.record(root, {"book/start/two.ipynb": 3.0})
    assert status.seconds(root) == {"book/start/one.ipynb": 3, "book/start/two.ipynb": 3}


def test_a_page_of_chapters_and_labs(tmp_path: Path) -> None:
    root = book(tmp_path)
    status.record(root, {"book/start/one.ipynb": 2.1})
    write_toy(root)
    text = status.page(root)
    assert "| [One](../start/one)<br>Who calls? | 3 | 3 | \N{EN DASH} |\n" in text
    assert "| [Two](../start/two) | \N{EN DASH} | 3 | \N{EN DASH} |\n" in text
    assert "| 77-counter | A counter | 1 | 1 | 1 |\n" in text


def test_deviations_are_what_the_modules_say(tmp_path: Path) -> None:
    (tmp_path / "k8slab/etcd").mkdir(parents=True)
    (tmp_path / "pyproject.toml").write_text(
        '[[tool.importlinter.contracts]]\nid = "floors"\nlayers = ["(raft)", "etcd"]\n'
    )
    for name, words in {
        "k8slab/__init__.py": "Simplified: see the packages.",
        "k8slab/table.py": "No such words.",
        "k8slab/etcd/__init__.py": "Simplified: see `store`.",
        "k8slab/etcd/store.py": "Simplified: no *leases*, no --flag of k8s.io;\n`a_b` only.\n\nMore.",
        "k8slab/etcd/txn.py": "Simplified: nothing.",
    }.items():
        (tmp_path / name).write_text(f'"""One module.\n\n{words}\n"""\n')
    ((path, text),) = generated.deviations(tmp_path).items()
    assert path == tmp_path / "docs/deviations.md"
    assert text.partition("<!-- begin -->\n\n")[2] == (
        "## k8slab.etcd\n\n- `k8slab.etcd.store`: no \\*leases\\*, no `--flag` of `k8s.io`; `a_b` only.\n\n"
        "## Nothing left out\n\nThese say so: `k8slab.etcd.txn`.\n"
    )
    assert generated.outdated({path: text}) == [path]


def test_a_check_writes_nothing(tmp_path: Path) -> None:
    (tmp_path / "k8slab/etcd").mkdir(parents=True)
    (tmp_path / "k8slab/etcd/__init__.py").write_text('"""One.\n\nSimplified: no leases.\n"""\n')
    (tmp_path / "pyproject.toml").write_text('[[tool.importlinter.contracts]]\nid = "floors"\nlayers = ["etcd"]\n')
    assert generated.main("deviations", tmp_path, ["--check"]) == 1
    assert not (tmp_path / "docs").exists()
    assert generated.main("deviations", tmp_path, []) == 0
    assert generated.main("deviations", tmp_path, ["--check"]) == 0


def test_a_glossary_is_read_and_chinese_sorts_by_pinyin() -> None:
    entries = "API Priority\nAPF\nAPI 优先级\n  How it\n  shares.\n\nPod\n容器组\n  Containers."
    first, second = glossary.terms(f"# Words\n\n```{{glossary}}\n{entries}\n```\nmore")
    assert first == (("API Priority", "APF"), ("API 优先级",), "How it shares.")
    assert second.english == ("Pod",)
    words = ["准入控制", "容器组", "标签", "节点", "Pod 沙箱", "部署"]
    by_sound = ["Pod 沙箱", "标签", "部署", "节点", "容器组", "准入控制"]  # P, biao, bu, jie, rong, zhun
    assert sorted(words, key=glossary.by_pinyin) == by_sound
