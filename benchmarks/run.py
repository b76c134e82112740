"""Runs every benchmark and keeps what they print, with the machine, in docs/benchmarks.md.

`python benchmarks/run.py bench_walk.py` runs those that are named; the others stay as they are, and
where those were measured elsewhere it is said of which machine the new ones are.
"""

import ast
import platform
import re
import subprocess
import sys
from collections.abc import Collection, Iterator
from importlib.metadata import version
from pathlib import Path

from bar import MISSED, end, missed

HERE = Path(__file__).resolve().parent
PAGE = HERE.parent / "docs" / "benchmarks.md"
PACKAGES = ("numba", "numpy", "polars", "pyarrow", "pyshark", "dpkt")
PROGRAMS = {"tshark": r"\d+\.\d+\.\d+"}
PRINTED = re.compile(r"`benchmarks/(bench_\w+\.py)` printed:")
INTRODUCTION = """# Benchmarks

<!-- written by `make bench`, not by hand -->

What `make bench` printed on one machine. Absolute figures are this machine's; what carries over
are the ratios, each against something named that was measured in the same run.
"""


def machine() -> Iterator[str]:
    """Processor, cores, system, versions."""
    yield f"- {processor()}, {len(cores())} cores, {platform.system()} {platform.release()}"
    yield f"- Python {platform.python_version()}, " + ", ".join(packages())
    for program, pattern in PROGRAMS.items():
        try:
            told = subprocess.run([program, "--version"], capture_output=True, text=True).stdout  # noqa: PLW1510, S603 - a version that is not told is not shown
        except FileNotFoundError:
            continue
        if found := re.search(pattern, told):
            yield f"- {program} {found[0]}"


def processor() -> str:
    """Name of the processor, as Linux tells it."""
    told = Path("/proc/cpuinfo").read_text()
    found = re.search(r"model name\s*: (.*)", told)
    return found[1] if found else platform.machine()


def cores() -> set[int]:
    """Cores that may be used."""
    import os

    return os.sched_getaffinity(0)


def packages() -> Iterator[str]:
    """Packages with their versions; those that are not installed are left out."""
    from importlib.metadata import PackageNotFoundError

    for package in PACKAGES:
        try:
            yield f"{package} {version(package)}"
        except PackageNotFoundError:
            continue


def told(path: Path) -> str:
    """What a benchmark prints, shown while it runs."""
    lines = []
    with subprocess.Popen(  # noqa: S603 - our own benchmarks
        [sys.executable, "-u", str(path)], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        for line in process.stdout:
            print(line, end="", flush=True)
            lines.append(line)
    if process.returncode == MISSED:
        missed.append(path.name)
    elif process.returncode:
        raise SystemExit(f"{path.name} failed")
    return "".join(lines)


def sections(names: Collection[str], own: str) -> Iterator[str]:
    """One section a benchmark: anew of those that are named, as the page has it of the others.

    `own` says of which machine the new ones are, where the page has those of another one.
    """
    known = dict(written())
    for path in sorted(HERE.glob("bench_*.py")):
        if path.name in names:
            yield section(path, own)
        elif path.name in known:
            yield known[path.name]


def written() -> Iterator[tuple[str, str]]:
    """Sections that the page has, by their benchmarks."""
    for text in re.split("^(?=## )", PAGE.read_text(), flags=re.MULTILINE)[1:]:
        if name := PRINTED.search(text):
            yield name[1], text.rstrip() + "\n"


def section(path: Path, own: str) -> str:
    """What a benchmark says of itself, where it ran, and what it printed."""
    about = ast.get_docstring(ast.parse(path.read_text())) or path.stem
    print(f"== {path.name}", flush=True)
    heading, _, rest = about.partition("\n")
    parts = [f"## {heading.rstrip('.')}\n"]
    parts += [f"{rest.strip()}\n"] if rest.strip() else []
    parts += [own] if own else []
    parts += [f"`benchmarks/{path.name}` printed:\n\n```\n{told(path).rstrip()}\n```\n"]
    return "\n".join(parts)


def main() -> None:
    """Run them and write the page."""
    every = {path.name for path in HERE.glob("bench_*.py")}
    names = set(sys.argv[1:]) or every
    if unknown := sorted(names - every):
        raise SystemExit(f"there is no benchmark {', '.join(unknown)}")
    before = PAGE.read_text().removeprefix(INTRODUCTION).partition("\n\n")[0].strip()
    own = "" if processor() in before or names == every else f"Of another machine: {processor()}.\n"
    found = [*sections(names, own)]
    page = [INTRODUCTION, "\n".join(machine()) if names == every else before, "", *found]
    PAGE.write_text("\n".join(page).rstrip() + "\n")
    if missed:
        print(f"bars are missed in {', '.join(missed)}")
    end()


if __name__ == "__main__":
    main()
