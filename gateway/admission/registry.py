"""Which kinds of policy this agent enforces: each registers with one line.

Read by `pipeline`. A kind that is not here is said in the log and counted, and lets everything
through: a gateway that is older than its control plane must go on.
"""

from collections.abc import Callable, Mapping

from controlplane.domain.admission.policy import Policy, PolicyKind
from gateway.admission.enforcing import Enforcer
from gateway.admission.surroundings import Surroundings

Maker = Callable[[Policy, Surroundings], Enforcer]

MAKERS: Mapping[PolicyKind, Maker] = {}
