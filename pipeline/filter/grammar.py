"""The grammar of filters, and a text as a tree of comparisons.

    filter     =  part { "or" part }
    part       =  test { "and" test }
    test       =  "not" test  |  "(" filter ")"  |  comparison
    comparison =  field ( "=" | "==" | "!=" | "<" | "<=" | ">" | ">=" | "~" | "!~" ) value
               |  field [ "not" ] "in" ( value  |  "(" value { "," value } ")" )
               |  field "is" [ "not" ] "known"
    value      =  word | quoted text

A word ends at a blank, a bracket, a comma, a quotation mark or a sign of comparison. Words of the
language may be written in capitals.
"""

import re
from functools import cache

from lark import Lark, Token, Tree
from lark.exceptions import UnexpectedCharacters, UnexpectedEOF, UnexpectedInput, UnexpectedToken

from pipeline.filter.filter_error import FilterError
from pipeline.filter.value import NUMBER, UNITS

MOST_CHARACTERS = 1000
MOST_COMPARISONS = 100
MOST_DEEP = 50

GRAMMAR = r"""
start: any_of
any_of: all_of (_OR all_of)*
all_of: test (_AND test)*
?test: _NOT test -> negated
     | "(" any_of ")"
     | comparison
?comparison: WORD SIGN value -> compared
           | WORD _IN values -> among
           | WORD _NOT _IN values -> not_among
           | WORD _IS _KNOWN -> known
           | WORD _IS _NOT _KNOWN -> not_known
values: value | "(" value ("," value)* ")"
value: WORD | QUOTED
_AND.2: /and(?![^\s()"',=<>!~])/i
_OR.2: /or(?![^\s()"',=<>!~])/i
_NOT.2: /not(?![^\s()"',=<>!~])/i
_IN.2: /in(?![^\s()"',=<>!~])/i
_IS.2: /is(?![^\s()"',=<>!~])/i
_KNOWN.2: /known(?![^\s()"',=<>!~])/i
SIGN: "==" | "=" | "!=" | "<=" | "<" | ">=" | ">" | "!~" | "~"
WORD: /[^\s()"',=<>!~]+/
QUOTED: /"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'/
%ignore /\s+/
"""

NAMES = {
    "WORD": "a name or a value",
    "QUOTED": "a quoted text",
    "SIGN": "a sign of comparison",
    "_AND": "and",
    "_OR": "or",
    "_NOT": "not",
    "_IN": "in",
    "_IS": "is",
    "_KNOWN": "known",
    "LPAR": "(",
    "RPAR": ")",
    "COMMA": ",",
    "$END": "the end",
}
"""What may stand somewhere, in the words of a message."""
ALL_UNITS = frozenset(unit for units in UNITS.values() for unit in units)
LAST_WORD = re.compile(r"""[^\s()"',=<>!~]+(?=\s*$)""")
"""A word at the end of a text, as the grammar has it."""
BREAKS = re.compile(r"\s")
"""Line breaks count as blanks, so that a column is one of the whole text."""
Node = Tree[Token]


@cache
def parser() -> Lark:
    """The parser, made once."""
    return Lark(GRAMMAR, parser="lalr", lexer="contextual", propagate_positions=True)


def parsed(text: str) -> Node:
    """The tree of a filter. Raises FilterError."""
    if len(text) > MOST_CHARACTERS:
        raise FilterError(MOST_CHARACTERS + 1, f"a filter has up to {MOST_CHARACTERS} characters")
    if not text.strip():
        raise FilterError(1, "a filter is empty; write one such as: u.p99 > 0.95")
    try:
        tree = parser().parse(BREAKS.sub(" ", text))
    except UnexpectedInput as error:
        raise _told(error, text) from None
    if sum(1 for _ in tree.find_pred(lambda node: node.data not in STRUCTURE)) > MOST_COMPARISONS:
        raise FilterError(1, f"a filter has up to {MOST_COMPARISONS} comparisons")
    return tree


STRUCTURE = frozenset({"start", "any_of", "all_of", "negated", "values", "value"})
"""Nodes that are no comparison."""


def _told(error: UnexpectedInput, text: str) -> FilterError:
    """What is wrong, in a sentence that says what may stand there."""
    if isinstance(error, UnexpectedCharacters):
        return FilterError(
            error.column, f"{text[error.column - 1 :][:1]!r} begins nothing that is known"
        )
    expected: set[str] = set()
    column, found = len(text) + 1, "the filter ends"
    if isinstance(error, UnexpectedToken):
        expected = set(error.accepts or error.expected)
        if error.token.type != "$END":
            column, found = error.token.column or 1, f"{str(error.token)[:40]!r} stands"
            if meant := _apart(text[: column - 1], str(error.token)):
                return FilterError(column, f"a unit is written without a blank: {meant}")
    elif isinstance(error, UnexpectedEOF):
        expected = set(error.expected)
    accepted = ", ".join(sorted(NAMES.get(name, name) for name in expected))
    return FilterError(column, f"{found} where one of these is expected: {accepted}")


def _apart(before: str, word: str) -> str:
    """A number and the unit that a blank keeps from it, as one word; empty where it is no unit."""
    last = LAST_WORD.search(before)
    number = NUMBER.fullmatch(last[0]) if last else None
    if number is None or number[2] or word.lower() not in ALL_UNITS:
        return ""
    return f"{number[1][:40]}{word}"
