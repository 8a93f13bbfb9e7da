"""Expressions in workflow files, ``${{ … }}``: what they refer to, and what the simple ones come to."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["expressions", "fill", "operators", "references", "value_of"]

_EXPRESSION: Final = re.compile(r"\$\{\{(?P<inner>(?:'(?:[^']|'')*'|[^'}]|\}(?!\}))*)\}\}")
_STRING: Final = re.compile(r"'(?:[^']|'')*'")
_INDEX: Final = re.compile(r"\[\s*'(?P<name>[\w.-]+)'\s*\]")
_REFERENCE: Final = re.compile(r"(?<![\w.'-])(?P<path>[A-Za-z_][\w-]*(?:\.(?:[\w-]+|\*))+)(?!\s*\()")
_WHOLE: Final = re.compile(r"[A-Za-z_][\w-]*(?:\.[\w-]+)+")
_PLAIN: Final = re.compile(r"true|false|-?\d+(?:\.\d+)?")
_OPERATOR: Final = re.compile(r"&&|\|\||==|!=|<=|>=|<|>|!")


def expressions(text: str) -> tuple[str, ...]:
    """Return the expressions in a text, without their brackets.

    >>> expressions("a-${{ matrix.id }}-${{ inputs.x || '}}' }}")
    ('matrix.id', "inputs.x || '}}'")
    """
    return tuple(found["inner"].strip() for found in _EXPRESSION.finditer(text))


def references(expression: str) -> tuple[tuple[str, ...], ...]:
    """Return what an expression refers to, each as its words; what stands in quotes is text.

    >>> references("needs.build.outputs.x != 'github.ref' && matrix['id']")
    (('needs', 'build', 'outputs', 'x'), ('matrix', 'id'))
    """
    dotted = _INDEX.sub(lambda found: f".{found['name']}", expression)
    return tuple(tuple(found["path"].split(".")) for found in _REFERENCE.finditer(_STRING.sub("''", dotted)))


def operators(expression: str) -> tuple[str, ...]:
    """Return the operators of an expression, in their order.

    >>> operators("always() && inputs.x != '&&'")
    ('&&', '!=')
    """
    return tuple(_OPERATOR.findall(_STRING.sub("''", expression)))


def value_of(expression: str, lookup: Callable[[tuple[str, ...]], str | None]) -> str | None:
    """Return what an expression comes to: a literal, something referred to, or the first of several (``||``) that is not empty.

    None where that is not known, or the expression is another one.

    >>> value_of("inputs.ref || 'main'", lambda _path: "")
    'main'
    """
    value: str | None = ""
    for operand in _alternatives(expression):
        if _STRING.fullmatch(operand):
            value = operand[1:-1].replace("''", "'")
        elif _PLAIN.fullmatch(operand):
            value = operand
        else:
            dotted = _INDEX.sub(lambda found: f".{found['name']}", operand)
            value = lookup(tuple(dotted.split("."))) if _WHOLE.fullmatch(dotted) else None
        if value is None or value not in {"", "false", "0"}:
            return value
    return value


def fill(text: str, lookup: Callable[[tuple[str, ...]], str | None]) -> str:
    """Return a text with its expressions replaced by their values; one whose value is not known stays, in angle brackets.

    >>> fill("a-${{ matrix.id }}-${{ github.run_id }}", lambda path: "x" if path == ("matrix", "id") else None)
    'a-x-<github.run_id>'
    """

    def replaced(found: re.Match[str]) -> str:
        inner = found["inner"].strip()
        value = value_of(inner, lookup)
        return f"<{inner}>" if value is None else value

    return _EXPRESSION.sub(replaced, text)


def _alternatives(expression: str) -> list[str]:
    """Return the parts of an expression between its ``||``; what stands in quotes is not looked at."""
    parts, start = [], 0
    strings = [found.span() for found in _STRING.finditer(expression)]
    for found in re.finditer(r"\|\|", expression):
        if not any(begin < found.start() < end for begin, end in strings):
            parts.append(expression[start : found.start()].strip())
            start = found.end()
    return [*parts, expression[start:].strip()]
