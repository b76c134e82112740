"""Runs every benchmark and keeps what they print, with the machine, in docs/benchmarks.md."""

import ast
import platform
import re
import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path

from bar import MISSED, end, missed

HERE = Path(__file__).resolve().parent
PAGE = HERE.parent / "docs" / "benchmarks.md"
PACKAGES = ("numba", "numpy", "polars", "pyarrow", "pyshark", "dpkt")
PROGRAMS = {"tshark": r"\d+\.\d+\.\d+"}
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


def sections() -> Iterator[str]:
    """One section a benchmark: what it says of itself, and what it printed."""
    for path in sorted(HERE.glob("bench_*.py")):
        about = ast.get_docstring(ast.parse(path.read_text())) or path.stem
        print(f"== {path.name}", flush=True)
        heading, _, rest = about.partition("\n")
        yield f"## {heading.rstrip('.')}\n"
        if rest.strip():
            yield f"{rest.strip()}\n"
        yield f"`benchmarks/{path.name}` printed:\n\n```\n{told(path).rstrip()}\n```\n"


def main() -> None:
    """Run all and write the page."""
    found = [*sections()]
    PAGE.write_text("\n".join([INTRODUCTION, *machine(), "", *found]).rstrip() + "\n")
    if missed:
        print(f"bars are missed in {', '.join(missed)}")
    end()


if __name__ == "__main__":
    main()
