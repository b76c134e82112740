"""What the machine code of a module's kernels is made from: its sources, and those it imports.

A kernel has the constants of its module and the code that it calls frozen in. Both come from the
module itself or from what it imports by name, so a digest of these files changes with whatever the
machine code may. A name that a package hands on stands for the module that it comes from: who
takes a decorator from a room does not depend on the whole room.
"""

import hashlib
import re
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

ROOMS = ("collector", "pipeline", "replay")
"""Rooms that hold kernels or tables for kernels."""

IMPORT = re.compile(
    rf"^[ \t]*(?:from[ \t]+((?:{'|'.join(ROOMS)})[\w.]*)[ \t]+import[ \t]+(\([^)]*\)|[^\n]*)"
    r"|import[ \t]+([\w., \t]+))",
    re.MULTILINE,
)
NAME = re.compile(r"(\w+)(?:\s+as\s+(\w+))?")
COMMENT = re.compile(r"#[^\n]*")


class Sources:
    """The sources of the rooms below `root`, read when they are asked for."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._file = lru_cache(None)(self._find)
        self._taken = lru_cache(None)(self._read)
        self._part = lru_cache(None)(self._told)
        self.digest = lru_cache(None)(self._digest)

    def _digest(self, file: Path) -> str:
        """16 hexadecimal digits of `file` and all that it imports, however many steps away."""
        reached, waiting = {file}, [file]
        while waiting:
            for _, origin in self._taken(waiting.pop()):
                if origin is not None and origin not in reached:
                    reached.add(origin)
                    waiting.append(origin)
        parts = b"".join(sorted(map(self._part, reached)))
        return hashlib.blake2b(parts, digest_size=8).hexdigest()

    def _told(self, file: Path) -> bytes:
        """What is of one file in digests: its name in the rooms and its octets."""
        name = file.relative_to(self.root).as_posix().encode()
        return hashlib.blake2b(name + b"\0" + file.read_bytes(), digest_size=16).digest()

    def _find(self, module: str) -> Path | None:
        """The file of a module or package."""
        place = self.root.joinpath(*module.split("."))
        files = (place.with_suffix(".py"), place / "__init__.py")
        return next((path for path in files if path.is_file()), None)

    def _read(self, file: Path) -> list[tuple[str, Path | None]]:
        """Each name that `file` imports from the rooms, and the file that gives it its value."""
        return list(self._imports(file, file.read_text(encoding="utf-8")))

    def _imports(self, file: Path, text: str) -> Iterator[tuple[str, Path | None]]:
        for found in IMPORT.finditer(text):
            module, names, whole = found.groups()
            for name, alias in NAME.findall(COMMENT.sub("", names or "")):
                yield alias or name, self._origin(module, name, file)
            for plain in re.split(r"[,\s]+", whole or ""):
                # Installed, the rooms lie beside libraries, which are none of theirs.
                yield plain, self._file(plain) if plain.partition(".")[0] in ROOMS else None

    def _origin(self, module: str, name: str, asking: Path) -> Path | None:
        """Where `from module import name` has its value from; a package asks itself for a part."""
        file = self._file(module)
        if file is None or file.name != "__init__.py":
            return file
        handed_on = None if file == asking else dict(self._taken(file)).get(name)
        return handed_on or self._file(f"{module}.{name}") or file
