"""Adapter for vectors/validation.json: decoding, defaulting and validation of creates and updates.

The recording had no `--allow-privileged` flag. Jobs get their selector first, as the registry gives it;
Services lose the fields of their old type.
"""

from types import SimpleNamespace
from typing import Any, cast

from k8slab.api.decoding import DecodeError
from k8slab.api.defaults import apply_defaults
from k8slab.api.scheme import SCHEME, gvk_of
from k8slab.api.validation import pod, validate_create, validate_update
from k8slab.apiserver.registry.context import Context
from k8slab.apiserver.registry.services import without_fields_of_other_types
from k8slab.apiserver.registry.workloads import JobStrategy

UID = "00000000-0000-4000-8000-000000000001"


def _prepare(manifest: dict[str, Any]) -> dict[str, Any]:
    obj = apply_defaults(manifest)
    info = SCHEME.resource_of(gvk_of(obj))
    if info.namespaced:
        obj["metadata"].setdefault("namespace", "ns")
    else:
        obj["metadata"].pop("namespace", None)
    if obj["kind"] == "Secret" and "stringData" in obj:
        obj.pop("stringData")
    return obj


def run(case_input: dict[str, Any]) -> Any:
    try:
        if case_input["op"] == "create":
            obj = _prepare(case_input["manifest"])
            if obj["kind"] == "Job":
                obj["metadata"]["uid"] = UID
                JobStrategy().prepare_for_create(cast(Context, SimpleNamespace(gvk=gvk_of(obj))), obj)
            causes = pod.validate_pod_create(obj, allow_privileged=False) if obj["kind"] == "Pod" else []
            causes = causes or validate_create(obj)
        else:
            new, old = _prepare(case_input["new"]), _prepare(case_input["old"])
            for version, one in (("1", new), ("1", old)):
                one["metadata"].setdefault("resourceVersion", version)
                one["metadata"].setdefault("uid", "uid")
            if new["kind"] == "Service":
                new["spec"] = without_fields_of_other_types(new["spec"], old["spec"])
            causes = validate_update(new, old)
    except DecodeError as e:
        return {"decodeError": str(e), "valid": False}
    if not causes:
        return {"valid": True}
    return {
        "valid": False,
        "reason": "Invalid",
        "code": 422,
        "causes": [{"type": c.reason, "field": c.field, "message": c.message} for c in causes],
    }
