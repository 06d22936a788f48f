"""The line of every key, against documents whose lines are known, and against tomllib's own idea of the keys."""

from __future__ import annotations

import json
import tomllib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from push.config.toml_lines import KeyPath, key_lines

DOCUMENT = '''\
# a comment with key = 1 and [table]
a = 1
"quoted = \\u006bey" = 2
b.c.d = 3
text = """
not = 1
[not]
\\""" still inside
"""
raw = \'\'\'
also = 2 \'\'\'\'
list = [ # comment ]
  1,
  { in = 1, deep.er = [2,
    3] },
  "]",
]

[ t . "u.v" ] # [x]
after = 1979-05-27 07:32:00

[[routes]]
agent = 'a # b'

[[routes]]
agent = "b\\"]"
[routes.extra]
more = true
[[routes.list]]
x = {}
[[routes.list]]
x = """"q""""
'''

LINES: dict[KeyPath, int] = {
    ("a",): 2,
    ("quoted = key",): 3,
    ("b",): 4,
    ("b", "c"): 4,
    ("b", "c", "d"): 4,
    ("text",): 5,
    ("raw",): 10,
    ("list",): 12,
    ("list", 0): 13,
    ("list", 1): 14,
    ("list", 1, "in"): 14,
    ("list", 1, "deep"): 14,
    ("list", 1, "deep", "er"): 14,
    ("list", 1, "deep", "er", 0): 14,
    ("list", 1, "deep", "er", 1): 15,
    ("list", 2): 16,
    ("t",): 19,
    ("t", "u.v"): 19,
    ("t", "u.v", "after"): 20,
    ("routes",): 22,
    ("routes", 0): 22,
    ("routes", 0, "agent"): 23,
    ("routes", 1): 25,
    ("routes", 1, "agent"): 26,
    ("routes", 1, "extra"): 27,
    ("routes", 1, "extra", "more"): 28,
    ("routes", 1, "list"): 29,
    ("routes", 1, "list", 0): 29,
    ("routes", 1, "list", 0, "x"): 30,
    ("routes", 1, "list", 1): 31,
    ("routes", 1, "list", 1, "x"): 32,
}


def paths(value: Any, path: KeyPath = ()) -> set[KeyPath]:
    """Every path in what tomllib read."""
    parts = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    found = {path} if path else set()
    for part, inner in parts:
        found |= paths(inner, (*path, part))
    return found


def test_every_construct() -> None:
    assert paths(tomllib.loads(DOCUMENT)) == set(LINES)
    assert key_lines(DOCUMENT) == LINES


def test_an_empty_document_has_no_keys() -> None:
    assert key_lines("") == {}
    assert key_lines("# only\n\n\t# comments") == {}


def test_what_is_not_toml_is_refused() -> None:
    with pytest.raises(ValueError, match="not valid TOML"):
        key_lines("key = 'open")


TEXTS = st.text(st.characters(codec="utf-8", exclude_characters="\x7f\r", exclude_categories=["Cc", "Cs"]), max_size=8)
NAMES = st.one_of(st.from_regex(r"[A-Za-z0-9_-]{1,6}", fullmatch=True), TEXTS)


@st.composite
def strings(draw: st.DrawFn) -> str:
    text = draw(TEXTS)
    shapes = [json.dumps(text, ensure_ascii=False)]
    if "'" not in text:
        shapes += [f"'{text}'", f"'''\n{text}\n{text}'''"]
    quoted = text.replace("\\", "\\\\").replace('"', '\\"')
    shapes.append(f'"""{quoted}\n{quoted}""\n"""')
    return draw(st.sampled_from(shapes))


SCALARS = st.one_of(
    strings(), st.sampled_from(["1", "-0.5e3", "true", "inf", "1979-05-27 07:32:00Z", "0x1F", "07:32:00"])
)


@st.composite
def values(draw: st.DrawFn, depth: int = 2) -> str:
    kind = draw(st.sampled_from(["scalar", "list", "table"] if depth else ["scalar"]))
    if kind == "scalar":
        return draw(SCALARS)
    inner = values(depth=depth - 1)
    if kind == "list":
        gap = draw(st.sampled_from(["", " ", "\n", "\n # ] \n"]))
        return "[" + gap + f",{gap}".join(draw(st.lists(inner, max_size=3))) + gap + "]"
    names = draw(st.lists(NAMES, max_size=3, unique=True))
    return "{" + ", ".join(f"{json.dumps(name, ensure_ascii=False)} = {draw(inner)}" for name in names) + "}"


@st.composite
def documents(draw: st.DrawFn) -> tuple[str, dict[KeyPath, int]]:
    """A document, and the lines of the keys that stand outside of values."""
    lines: list[str] = []
    expected: dict[KeyPath, int] = {}

    def pairs(table: KeyPath) -> None:
        for name in draw(st.lists(NAMES, max_size=3, unique=True)):
            lines.extend(draw(st.lists(st.sampled_from(["", "# x = 1", "\t"]), max_size=2)))
            expected[(*table, name)] = len(lines) + 1
            lines.extend(f"{json.dumps(name, ensure_ascii=False)} = {draw(values())} # end".split("\n"))

    pairs(())
    tables = draw(st.lists(NAMES, max_size=3, unique=True))
    for name in tables:
        if (name,) in expected:
            continue
        quoted = json.dumps(name, ensure_ascii=False)
        if draw(st.booleans()):
            expected[(name,)] = len(lines) + 1
            lines.append(f"[{quoted}]")
            pairs((name,))
        else:
            expected[(name,)] = len(lines) + 1
            for index in range(draw(st.integers(1, 2))):
                expected[(name, index)] = len(lines) + 1
                lines.append(f"[[ {quoted} ]]")
                pairs((name, index))
    return "\n".join(lines), expected


@given(documents())
def test_any_document(made: tuple[str, dict[KeyPath, int]]) -> None:
    text, expected = made
    found = key_lines(text)
    assert set(found) == paths(tomllib.loads(text))
    assert {path: line for path, line in found.items() if path in expected} == expected
