"""Which sources the machine code of a module answers to."""

from pathlib import Path

import pytest

from collector.kernel_sources import Sources

FILES = {
    "collector/__init__.py": (
        "from collector import arrow\nfrom collector.kernel import (  # what the rooms take\n"
        "    kernel,\n    step as part,\n)\nLIMIT = 3\n"
    ),
    "collector/kernel.py": "def kernel(): ...\ndef step(): ...\n",
    "collector/arrow.py": "import collector.deep\n",
    "collector/deep.py": "",
    "collector/other.py": "",
    "pipeline/__init__.py": "from pipeline.loose import LOOSE\n",
    "pipeline/loose.py": "",
    "pipeline/table.py": "VALUE = 1\n",
    "pipeline/by_name.py": "from collector import kernel\nfrom pipeline.table import VALUE\n",
    "pipeline/by_alias.py": "from collector import part\n",
    "pipeline/by_module.py": "from collector import arrow\n",
    "pipeline/by_package.py": "from collector import LIMIT\n",
    "pipeline/late.py": "def late():\n    from pipeline import table\n",
    "pipeline/round.py": "from pipeline.trip import A\n",
    "pipeline/trip.py": "from pipeline.round import B\nimport os, collector.deep\n",
}
EVERY = ("collector/__init__.py", "collector/kernel.py", "collector/arrow.py", "collector/deep.py")
REACHED = {
    "by_name": {"collector/kernel.py", "pipeline/table.py"},
    "by_alias": {"collector/kernel.py"},
    "by_module": {"collector/arrow.py", "collector/deep.py"},
    "by_package": set(EVERY),
    "late": {"pipeline/table.py"},
    "round": {"pipeline/trip.py", "collector/deep.py"},
    "trip": {"pipeline/round.py", "collector/deep.py"},
}


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A few rooms that import each other in every way there is."""
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


@pytest.mark.parametrize("module", sorted(REACHED))
def test_a_digest_changes_with_what_is_reached_and_with_nothing_else(
    tree: Path, module: str
) -> None:
    file = tree / "pipeline" / f"{module}.py"
    before = Sources(tree).digest(file)
    changed = set()
    for name, text in FILES.items():
        (tree / name).write_text(f"{text}\n")
        if Sources(tree).digest(file) != before:
            changed.add(name)
        (tree / name).write_text(text)
    assert changed == REACHED[module] | {f"pipeline/{module}.py"}
    assert Sources(tree).digest(file) == before


def test_copies_of_the_rooms_have_the_same_digests(tree: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    for name, text in FILES.items():
        (elsewhere / name).parent.mkdir(parents=True, exist_ok=True)
        (elsewhere / name).write_text(text)
    ours, theirs = (Sources(top).digest(top / "pipeline/by_name.py") for top in (tree, elsewhere))
    assert ours == theirs


def test_libraries_beside_the_rooms_are_not_read(tree: Path) -> None:
    """Where the rooms are installed, `import os` would be a file of theirs otherwise."""
    file = tree / "pipeline" / "trip.py"
    before = Sources(tree).digest(file)
    (tree / "os.py").write_text("import collector.other\n")
    assert Sources(tree).digest(file) == before
