"""Match functions: conditions with a name, which a route calls with arguments.

A function has a predicate and, where possible, plain conditions that mean the same: those every
data plane can express. The registry is a value; an application that embeds the matcher passes a
larger one.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from controlplane.domain.routing.matching.conditions import Predicate
from controlplane.domain.routing.route import Condition, FunctionCall, Route

Arguments = Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class MatchFunction:
    """A named condition.

    Attributes:
        description: one sentence for operators.
        arguments: name -> its default; None when it must be given.
        allowed: argument -> regular expression of its values.
        predicate: made once for each call in a route.
        lowered: plain conditions that all hold exactly when the predicate does; None when no data
            plane can express it.
    """

    description: str
    arguments: Mapping[str, str | None]
    allowed: Mapping[str, str]
    predicate: Callable[[Arguments], Predicate]
    lowered: Callable[[Arguments], tuple[Condition, ...]] | None = None


Registry = Mapping[str, MatchFunction]


def arguments_of(call: FunctionCall, registry: Registry) -> Arguments:
    """The arguments of a call, defaults filled in; it has no `faults`."""
    defaults = registry[call.name].arguments
    return {name: value or "" for name, value in defaults.items()} | dict(call.arguments)


def faults(call: FunctionCall, registry: Registry) -> list[str]:
    """What is wrong with a call, in words; empty when nothing is."""
    function = registry.get(call.name)
    if function is None:
        return [f"no match function {call.name}; there are {', '.join(sorted(registry))}"]
    given = dict(call.arguments)
    found = [f"{call.name} has no argument {name}" for name in given.keys() - function.arguments]
    for name, default in function.arguments.items():
        value = given.get(name, default)
        if value is None:
            found.append(f"{call.name} needs the argument {name}")
        elif re.fullmatch(function.allowed[name], value) is None:
            found.append(f"{name} of {call.name} must match {function.allowed[name]}: {value!r}")
    return sorted(found)


def predicate(call: FunctionCall, registry: Registry) -> Predicate:
    """Whether a request fulfils a call without `faults`."""
    return registry[call.name].predicate(arguments_of(call, registry))


def lowered(route: Route, registry: Registry) -> Route | None:
    """The route with plain conditions instead of functions; None when one has none.

    Order routes first and lower them afterwards: a function counts as one condition.
    """
    conditions = list(route.conditions)
    for call in route.functions:
        function = registry.get(call.name)
        if function is None or function.lowered is None:
            return None
        conditions += function.lowered(arguments_of(call, registry))
    return replace(route, conditions=tuple(conditions), functions=())
