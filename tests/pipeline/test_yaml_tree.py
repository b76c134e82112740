"""One pass over a YAML text makes what the library makes, and says on which line each thing is."""

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from pipeline.topology import Topology
from pipeline.topology_text import TopologyError, load

SAME = (
    "a: 1\nb: [x, 'y', 1e3, 1.5, ~, yes, 2026-01-31T12:00:00Z, 0x10, \"2\"]\n",
    "a: {b: {c: [1, {d: e}]}}\nf: |\n  long\n  text\n",
    "base: &b {x: 1, y: 2}\none:\n  <<: *b\n  y: 3\ntwo: {<<: [*b, {x: 9, z: 4}]}\n",
    "a: &n word\nb: *n\nc: !!str 5\nd: !!int '7'\n1: whole\n1.5: real\n",
    "--- \na: null\n...\n",
)


@pytest.mark.parametrize("text", SAME)
def test_the_tree_is_the_librarys(text: str) -> None:
    assert load(text)[0] == yaml.safe_load(text)


words = st.text(st.characters(codec="utf-8", exclude_categories=["C"]), max_size=8)
plain = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | words
trees = st.recursive(
    plain, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=3)
)


@given(st.dictionaries(words, trees, min_size=1, max_size=4))
def test_what_the_library_writes_is_read_as_it_was(tree: dict[str, object]) -> None:
    text = yaml.safe_dump(tree, allow_unicode=True)
    assert load(text)[0] == yaml.safe_load(text) == tree


def test_every_place_has_its_line() -> None:
    text = "a:\n  b:\n    - x\n    - y: 1\nc: &k\n  d: 2\ne: *k\n"
    _, lines = load(text)
    assert lines == {"a": 1, "a.b": 2, "a.b.0": 3, "a.b.1": 4, "a.b.1.y": 4, "c": 5, "c.d": 6,
                     "e": 7}  # fmt: skip


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a: 1\nb: 2\na: 3\n", "line 3: a is given twice"),
        ("a: *nobody\n", "line 1: not YAML"),
        ("a: 1\n---\nb: 2\n", "line 2: not YAML"),
        ("a: !!python/object:os.system x\n", "line 1: not YAML"),
        ("a: !thing {b: 1}\n", "line 1: not YAML"),
        ("a: !!int many\n", "line 1: not YAML"),
        ("a: 1\n? [b, c]\n: d\n", "line 2: not YAML"),
        ("a:\n  <<: 5\n", "line 2: not YAML"),
        ("a: [\n", "line 2: not YAML"),
        ("a: " + "[" * 60 + "]" * 60, "line 1: nested too deeply"),
        ("- a\n", "is a mapping"),
    ],
)
def test_what_is_no_topology_is_said_with_its_line(text: str, said: str) -> None:
    with pytest.raises(TopologyError, match=said):
        load(text)


def test_topologies_that_tell_the_same_are_one_and_others_are_not() -> None:
    text = "devices: {a: {node: 1, interfaces: {e1: {port: 1, capacity_gbps: %s}}}}"
    one, same, other = (Topology.from_yaml(text % rate) for rate in (10, 10.0, 25))
    assert one == same
    assert hash(one) == hash(same)
    assert one != other
    assert len({one, same, other}) == 2
