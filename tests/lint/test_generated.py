"""Files made from others are up to date, and the reference pages have something to say of every public name."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest

from k8slab.dev import glossary, public
from k8slab.dev.generated import MAKERS, outdated

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = public.packages(ROOT)


@pytest.mark.parametrize("verb", MAKERS)
def test_a_generated_file_is_up_to_date(verb: str) -> None:
    old = [path.relative_to(ROOT).as_posix() for path in outdated(MAKERS[verb](ROOT))]
    assert old == [], f"python -m k8slab.dev {verb} writes them"


def test_every_top_package_is_on_a_floor_and_has_a_page() -> None:
    folders = sorted(f"k8slab.{path.parent.name}" for path in (ROOT / "k8slab").glob("*/__init__.py"))
    assert sorted(PACKAGES) == ["k8slab", *folders]
    pages = sorted(path.stem for path in (ROOT / "book/reference/api").glob("*.md"))
    assert pages == sorted(name.removeprefix("k8slab.") for name in PACKAGES), "a page without a package"


@pytest.mark.parametrize("package", PACKAGES)
def test_a_public_name_has_a_docstring_or_a_text_below_it(package: str) -> None:
    entries = [entry for module in public.load(package).modules for entry in module.entries]
    assert sorted(entry.name for entry in entries) == sorted(importlib.import_module(package).__all__)
    assert [f"{entry.home}: {entry.name}" for entry in entries if not entry.doc] == []


# the terms of the glossaries in the notes that the book began with
WANTED = """
    Pod Node cluster Namespace Deployment StatefulSet DaemonSet ReplicaSet Service Ingress ConfigMap
    Secret PersistentVolume PV PersistentVolumeClaim PVC StorageClass SC CustomResourceDefinition
    CRD CR Operator label selector annotation kubelet kube-proxy etcd controller scheduler K8s
    Kubernetes CRI CNI CSI RBAC ServiceAccount SA HPA VPA PodDisruptionBudget PDB PSA PSS GVK GVR
    APF DRA PLEG KEP SIG CNCF OCI kubeadm kubectl CoreDNS Helm informer finalizer webhook container
"""


def test_the_glossary_has_every_term_of_the_sources_in_both_languages_once() -> None:
    terms = glossary.terms((ROOT / "book/reference/glossary.md").read_text(encoding="utf-8"))
    english = [name for term in terms for name in term.english]
    chinese = [name for term in terms for name in term.chinese]
    assert [name for name in WANTED.split() if name not in english] == []
    assert [term.english for term in terms if not (term.english and len(term.chinese) == 1 and term.definition)] == []
    assert len(english) == len(set(english)) and len(chinese) == len(set(chinese))
    first = [term.english[0].casefold() for term in terms]
    assert first == sorted(first), "entries are sorted by their first name"
