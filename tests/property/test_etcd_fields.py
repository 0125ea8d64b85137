"""The short ways past the check of a request's fields, against the check itself: `check_fields`, field by field."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from k8slab.etcd import DeleteRangeRequest, EtcdError, PutRequest, RangeRequest, encode
from k8slab.etcd.fields import FIELDS, check_fields
from k8slab.etcd.txn import check_request
from tests.counts import examples

VALUES: list[Any] = [
    b"", b"k", b"z", "k", "", None, 0, 1, -1, 2**63 - 1, 2**63, -(2**63), -(2**63) - 1, 0.0, 1.0, True, False,
    "NONE", "ASCEND", "KEY", "MOD", "UP", (), [],
]  # fmt: skip
KINDS = [PutRequest, RangeRequest, DeleteRangeRequest]


def refusal(of: Any, request: Any) -> str:
    """What a check says of a request; nothing for one that only etcd itself refuses."""
    try:
        of(request)
    except EtcdError:
        return ""
    except (TypeError, ValueError) as error:
        return f"{type(error).__name__}: {error}"
    return ""


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
@given(data=st.data())
@settings(max_examples=examples(400), deadline=None)
def test_the_short_ways_refuse_what_the_check_refuses(kind: Any, data: st.DataObject) -> None:
    plain = kind(b"k")
    at = data.draw(st.lists(st.integers(0, len(FIELDS[kind]) - 1), max_size=2))
    request = plain._replace(**{FIELDS[kind][one].name: data.draw(st.sampled_from(VALUES)) for one in at})
    expected = refusal(check_fields, request)
    assert refusal(check_request, request) == expected
    assert refusal(encode, request) == expected
