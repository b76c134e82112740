"""A filter as SQL: our own words for fields and signs, and every value a parameter.

A comparison with what is not known is false, by `!=`, `!~` and `not in` too, so that `not` turns
each row either way. A text that is empty is not known.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import lru_cache
from typing import Any

from lark import Token, Tree

from pipeline.filter.field import FIELDS, Field
from pipeline.filter.filter_error import FilterError
from pipeline.filter.grammar import MOST_DEEP, Node, parsed
from pipeline.filter.value import (
    network_of,
    number_of,
    pattern_of,
    protocol_of,
    ranges_of,
    word_of,
)

ORDERS = ("<", "<=", ">", ">=")
SIGNS = {
    "text": "=, !=, in or ~",
    "number": "=, !=, <, <=, >, >= or in",
    "address": "=, != or in",
    "protocol": "=, != or in",
    "end": "=, !=, in or ~",
}
"""Signs that fit a field, by its kind."""
MOST_VALUES = 100
TEXTS = frozenset({"text", "end"})
"""Kinds that have patterns."""
FIRST = "splitByChar('/', {0})[1]"
IS_PREFIX = f"(isIPv4String({FIRST}) OR isIPv6String({FIRST})) AND position({{0}}, '/') > 0"
"""Whether the name of an end is a prefix."""
# The engine computes both sides of an `and`: names that are no prefix are not given to it.
WITHIN = (
    f"{IS_PREFIX} AND isIPAddressInRange(if({IS_PREFIX}, {FIRST}, '0.0.0.0'), {{1}})"
    " AND toUInt8OrZero(splitByChar('/', {0})[2]) >= {2}"
)
HOLDS = f"{IS_PREFIX} AND isIPAddressInRange({{1}}, if({IS_PREFIX}, {{0}}, '0.0.0.0/32'))"
"""Such a prefix lies within another one; or it holds an address."""


@dataclass(frozen=True)
class Condition:
    """SQL about a row `here`, and the values of its parameters."""

    sql: str
    parameters: dict[str, Any]


@lru_cache(maxsize=256)
def condition(subject: str, text: str) -> Condition:
    """What a filter over a subject says. Raises FilterError."""
    tree, told = parsed(text), _Told(FIELDS[subject])
    return Condition(told.node(tree, 0), told.parameters)


@dataclass
class _Told:
    """One filter on its way to SQL."""

    fields: dict[str, Field]
    parameters: dict[str, Any] = field(default_factory=dict)

    def node(self, node: Node, depth: int) -> str:
        """A node of the tree."""
        if depth > MOST_DEEP:
            raise FilterError(node.meta.column, f"a filter is up to {MOST_DEEP} deep")
        inner: list[Node] = [child for child in node.children if isinstance(child, Tree)]
        if node.data in JOINED:
            more = depth + (node.data == "any_of")
            return f"({JOINED[node.data].join(self.node(child, more) for child in inner)})"
        if node.data == "negated":
            return f"NOT {self.node(inner[0], depth + 1)}"
        return self.comparison(node)

    def comparison(self, node: Node) -> str:
        """One comparison, true or false."""
        name = node.children[0]
        assert isinstance(name, Token)
        known = self.field(name)
        if node.data in {"known", "not_known"}:
            return _there(known) if node.data == "known" else f"NOT {_there(known)}"
        tokens = list(node.scan_values(_is_token))
        values = [each for each in tokens if each is not name and each.type != "SIGN"]
        if node.data == "compared":
            return self.compared(known, tokens[1], values[0])
        if len(values) > MOST_VALUES:
            raise FilterError(values[MOST_VALUES].column or 1, f"up to {MOST_VALUES} values")
        made = " OR ".join(self.equal(known, each) for each in values)
        return f"({made})" if node.data == "among" else _other(known, made)

    def compared(self, known: Field, sign: Any, value: Token) -> str:
        """A field beside one value."""
        word = str(sign).replace("==", "=")
        if word in {"=", "!="}:
            made = self.equal(known, value)
        elif word in ORDERS:
            if known.kind != "number":
                raise FilterError(
                    sign.column, f"{known.name} has no order; use {SIGNS[known.kind]}"
                )
            made = self.each(known, f"{{}} {word} {self.put(number_of(value, known), 'Float64')}")
        elif known.kind in TEXTS:
            made = self.each(known, f"{{}} LIKE {self.put(pattern_of(value, known), 'String')}")
        else:
            raise FilterError(sign.column, f"{known.name} is no text; use {SIGNS[known.kind]}")
        return _other(known, made) if word.startswith("!") else made

    def equal(self, known: Field, value: Token) -> str:
        """A field that is a value; an address, that lies in a prefix."""
        return EQUAL[known.kind](self, known, value)

    def in_prefix(self, known: Field, value: Token) -> str:
        tests = []
        for ends in ranges_of(value):
            first, last = ("(" + ", ".join(self.put(word, "UInt64") for word in end) + ")"
                           for end in ends)  # fmt: skip
            tests.append(f"({{0}}_hi, {{0}}_lo) >= {first} AND ({{0}}_hi, {{0}}_lo) <= {last}")
        return self.each(known, " OR ".join(tests))

    def end(self, known: Field, value: Token) -> str:
        """An end of paths by its name; of prefixes those in a prefix, or the one of an address."""
        named = f"{{0}} = {self.put(word_of(value, known), 'String')}"
        if (network := network_of(value)) is None:
            return self.each(known, named)
        if network.prefixlen == network.max_prefixlen:
            test = HOLDS.format("{0}", self.put(str(network.network_address), "String"))
        else:
            prefix, bits = self.put(str(network), "String"), self.put(network.prefixlen, "UInt8")
            test = WITHIN.format("{0}", prefix, bits)
        return self.each(known, f"{named} OR ({test})")

    def each(self, known: Field, test: str) -> str:
        """A test of any of the columns of a field; what is not known does not pass."""
        made = " OR ".join(f"ifNull({test.format(f'here.{name}')}, 0)" for name in known.columns)
        return f"({made})"

    def put(self, value: Any, kind: str) -> str:
        """A value as a parameter of the query."""
        name = f"filter_{len(self.parameters)}"
        self.parameters[name] = value
        return f"{{{{{name}:{kind}}}}}"

    def field(self, name: Token) -> Field:
        """The field of a name. Raises FilterError."""
        found = self.fields.get(str(name).lower())
        if found is None:
            near = get_close_matches(str(name).lower(), self.fields, n=1)
            hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(self.fields)}"
            raise FilterError(name.column or 1, f"there is no field {str(name)[:40]!r}; {hint}")
        return found


def _is_token(found: object) -> bool:
    return isinstance(found, Token)


def _there(known: Field) -> str:
    """Whether a field is known."""
    names = [f"here.{name}_hi" if known.kind == "address" else f"here.{name}"
             for name in known.columns]  # fmt: skip
    told = [f"isNotNull({name})" for name in names]
    if known.kind in TEXTS:
        told = [f"ifNull({name}, '') != ''" for name in names]
    return f"({' AND '.join(told)})"


def _other(known: Field, made: str) -> str:
    """What is known and does not pass a test."""
    return f"({_there(known)} AND NOT ({made}))"


JOINED = {"start": "", "any_of": " OR ", "all_of": " AND "}
EQUAL: dict[str, Callable[[_Told, Field, Token], str]] = {
    "text": lambda to, known, value: to.each(
        known, f"{{}} = {to.put(word_of(value, known), 'String')}"
    ),
    "number": lambda to, known, value: to.each(
        known, f"{{}} = {to.put(number_of(value, known), 'Float64')}"
    ),
    "protocol": lambda to, known, value: to.each(
        known, f"{{}} = {to.put(protocol_of(value), 'UInt8')}"
    ),
    "address": lambda to, known, value: to.in_prefix(known, value),
    "end": lambda to, known, value: to.end(known, value),
}
"""How a field is compared with a value, by its kind."""
