"""Who a user is beside the name: uid and groups, as authentication would have told.

>>> user_info("system:node:node-1").groups
('system:nodes', 'system:authenticated')

Upstream: apiserver/pkg/authentication/user/user.go, apiserver/pkg/authentication/serviceaccount/util.go
Simplified: nobody is authenticated; uid and groups follow from the name, unless the server was told others.
"""

from __future__ import annotations

from typing import Any, NamedTuple

__all__ = ["UserInfo", "user_info"]

_AUTHENTICATED = "system:authenticated"
_GROUPS = {
    "system:admin": ("system:masters",),
    "system:apiserver": ("system:masters",),
    "kubernetes-admin": ("kubeadm:cluster-admins",),
}


class UserInfo(NamedTuple):
    username: str
    uid: str = ""
    groups: tuple[str, ...] = ()

    def to_object(self) -> dict[str, Any]:
        """As an AdmissionReview has it; what is empty is absent."""
        found: dict[str, Any] = {}
        if self.username:
            found["username"] = self.username
        if self.uid:
            found["uid"] = self.uid
        if self.groups:
            found["groups"] = list(self.groups)
        return found


def user_info(name: str) -> UserInfo:
    """What follows from a name."""
    parts = name.split(":")
    if parts[:2] == ["system", "node"] and len(parts) == 3:
        groups: tuple[str, ...] = ("system:nodes",)
    elif parts[:2] == ["system", "serviceaccount"] and len(parts) == 4:
        groups = ("system:serviceaccounts", f"system:serviceaccounts:{parts[2]}")
    else:
        groups = _GROUPS.get(name, ())
    return UserInfo(name, "", (*groups, _AUTHENTICATED))
