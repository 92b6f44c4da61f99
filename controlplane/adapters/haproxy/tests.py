"""Conditions of routes as ACLs, each with a name and written once.

Called by `table` and `frontend`. A request's headers, cookies and query arguments are read into
variables first, so that all tests read them in the same way: the first of several cookies or
arguments of one name, several lines of one header as one text with commas.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

from controlplane.adapters.haproxy.quoting import in_quotes, word
from controlplane.domain.routing.compiling.choices import Choice
from controlplane.domain.routing.compiling.pcre import first_part, whole
from controlplane.domain.routing.matching import cohorts
from controlplane.domain.routing.route import (
    Cohort,
    CohortKey,
    Condition,
    Part,
    PathMatch,
    Route,
    TextMatchType,
)

# Lines of one header that are joined; a request with more is refused.
MOST_LINES = 4
# Arguments of one line of configuration are limited to 64.
NETWORKS_PER_LINE = 20
# Words with a meaning of their own between braces.
_BRACES = frozenset(("{", "}"))
_SOURCES = {Part.QUERY_PARAM: ("query", "&"), Part.COOKIE: ("req.fhdr(cookie)", ";")}


@dataclass(slots=True, kw_only=True)
class Tests:
    """All ACLs and variables that a frontend needs, in the order in which they were asked for."""

    _acls: dict[str, str] = field(default_factory=dict)
    _variables: dict[tuple[Part, str], str] = field(default_factory=dict)

    def of_choice(self, choice: Choice) -> str | None:
        """What must hold beside host, path and method, as ACL names; None when it never can."""
        names = [*self._of_route(choice.route)]
        if choice.digits:
            names.append(self._acl(f"var(txn.who) -m reg -- {word(f'^(?:{choice.digits})')}"))
        return None if _NEVER in names else " ".join(names)

    def of_path(self, path: PathMatch) -> str:
        """Whether an expression matches a path."""
        return self._acl(f"path -m reg -- {word(whole(path.value))}")

    @property
    def ask_who(self) -> bool:
        """Whether some of them compare the user or the request's id."""
        return any(
            f"var(txn.{who})" in text for text in self._acls for who in ("who", "sid", "rid")
        )

    def acls(self) -> Iterator[str]:
        """Their lines."""
        for text, name in self._acls.items():
            # Several lines of one name are one ACL.
            yield from (f"acl {name} {line}" for line in text.split("\n"))

    def variables(self) -> Iterator[str]:
        """The lines that read a request's parts into variables."""
        for (part, name), variable in self._variables.items():
            yield f"# {part} {name}"
            yield from (
                _header(name, variable) if part is Part.HEADER else _of_text(part, name, variable)
            )

    def _of_route(self, route: Route) -> Iterator[str]:
        for condition in route.conditions:
            yield self._of_condition(condition)
        if route.sources:
            yield self._acl(_networks(route.sources))
        if route.cohort is not None and not cohorts.everyone(route.cohort):
            yield self._of_cohort(route.cohort)
        if route.valid_from_s is not None:
            yield f"!{self._acl(f'date lt {_rounded_up(route.valid_from_s)}')}"
        if route.valid_until_s is not None:
            yield self._acl(f"date lt {_rounded_up(route.valid_until_s)}")

    def _of_cohort(self, cohort: Cohort) -> str:
        digits = cohorts.expression(cohort)
        if not digits:
            return _NEVER
        variable = "txn.sid" if cohort.by is CohortKey.USER else "txn.rid"
        return self._acl(f"var({variable}) -m reg -- {word(f'^(?:{digits})')}")

    def _of_condition(self, condition: Condition) -> str:
        variable = self._variable(condition.part, condition.name)
        match condition.type:
            case TextMatchType.PRESENT:
                return self._acl(f"var({variable}) -m found")
            case TextMatchType.ABSENT:
                return f"!{self._acl(f'var({variable}) -m found')}"
            case TextMatchType.EXACT if condition.value and condition.value not in _BRACES:
                return self._acl(f"var({variable}) -m str -- {word(condition.value)}")
            case TextMatchType.EXACT:
                return self._acl(f"var({variable}),length eq {len(condition.value)}")
            case TextMatchType.PREFIX if condition.value:
                return self._acl(f"var({variable}) -m beg -- {word(condition.value)}")
            case TextMatchType.PREFIX:
                return self._acl(f"var({variable}) -m found")
            case TextMatchType.REGULAR_EXPRESSION:
                return self._acl(f"var({variable}) -m reg -- {word(whole(condition.value))}")

    def _acl(self, text: str) -> str:
        return self._acls.setdefault(text, f"a{len(self._acls)}")

    def _variable(self, part: Part, name: str) -> str:
        return self._variables.setdefault((part, name), f"txn.v{len(self._variables)}")


_NEVER = "never"


def _networks(sources: tuple[str, ...]) -> str:
    groups = (sources[n : n + NETWORKS_PER_LINE] for n in range(0, len(sources), NETWORKS_PER_LINE))
    return "\n".join(f"src -- {' '.join(group)}" for group in groups)


def _rounded_up(time_s: float) -> int:
    return -int(-time_s // 1)


def _header(name: str, variable: str) -> Iterator[str]:
    yield f"http-request set-var({variable}) req.fhdr({name})"
    for count in range(2, MOST_LINES + 1):
        joined = ",".join(f"%[req.fhdr({name},{n})]" for n in range(1, count + 1))
        several = f"{{ req.fhdr_cnt({name}) eq {count} }}"
        yield f"http-request set-var-fmt({variable}) {word(joined)} if {several}"
    many = f"{{ req.fhdr_cnt({name}) gt {MOST_LINES} }}"
    yield f"http-request deny deny_status 400 if {many}"


def _of_text(part: Part, name: str, variable: str) -> Iterator[str]:
    source, separator = _SOURCES[part]
    expression = first_part(name, separator)
    read = f'{source},regsub("{in_quotes(expression)}","\\1")'
    guard = f"{{ {source} -m reg -- {word(expression)} }}"
    yield f"http-request set-var({variable}) {word(read)} if {guard}"
