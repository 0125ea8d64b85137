"""Pod Security admission: three levels, three modes, checks by version.

>>> from k8slab.apiserver.admission.pod_security import Evaluator, LevelVersion
>>> pod = {"metadata": {"name": "p"}, "spec": {"hostPID": True, "containers": [{"name": "c", "image": "i"}]}}
>>> print(Evaluator().evaluate(LevelVersion("baseline"), pod))
host namespaces (hostPID=true)

A namespace's labels say which level is enforced, which is only warned about, and which only audited. `Evaluator` knows
the checks, the plugin `PodSecurity` applies them to Pods and to the templates of workloads, of which none is enforced.

Upstream: pod-security-admission, plugin/pkg/admission/security/podsecurity
"""

from k8slab.apiserver.admission.pod_security.evaluator import Evaluator, Verdict
from k8slab.apiserver.admission.pod_security.levels import (
    BASELINE,
    LEVELS,
    PRIVILEGED,
    RESTRICTED,
    LevelVersion,
    Policy,
    policy_of,
)
from k8slab.apiserver.admission.pod_security.plugin import Exemptions, PodSecurity

__all__ = [
    "BASELINE",
    "LEVELS",
    "PRIVILEGED",
    "RESTRICTED",
    "Evaluator",
    "Exemptions",
    "LevelVersion",
    "PodSecurity",
    "Policy",
    "Verdict",
    "policy_of",
]
