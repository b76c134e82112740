"""State as octets: every attribute of an object and of those behind it, read and put back as data.

The format is a JSON tree whose arrays and tables stand behind it as octets, each with a digest; one
that is as it was in the snapshot before is left out. It is restored into an object that settings
made: what those give (settings, topologies, functions, what is `skipped`) is not in it. Nothing in
it is run: only classes of this program are made, without their own code.
"""

import importlib
import io
import json
from collections import Counter, OrderedDict, deque
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from hashlib import blake2b
from itertools import pairwise
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
from pydantic import BaseModel

from pipeline.cc.parameter import as_made
from pipeline.snapshot_error import SnapshotError
from pipeline.topology import Topology
from pipeline.versions import Versions

FORMAT = 1
"""Of the octets; another one is refused."""
MAGIC = b"hopsight state\n"
GIVEN = (BaseModel, Versions)
"""Classes of what settings give."""
OWN = ("collector.", "pipeline.")
"""Where the classes come from that are put back."""
SEQUENCES: Mapping[str, Callable[[Any], Any]] = {
    "list": list, "tuple": tuple, "set": set, "frozenset": frozenset, "deque": deque,
}  # fmt: skip
MAPPINGS: Mapping[str, type] = {"dict": dict, "Counter": Counter, "OrderedDict": OrderedDict}
PLAIN = (bool, int, float, str, type(None))
PACKED = pa.ipc.IpcWriteOptions(compression="zstd")
"""How tables are written."""
Tree = Any
"""What JSON can hold."""


def is_given(value: object) -> bool:
    """Whether a value is settings', and no state."""
    return isinstance(value, GIVEN) or (callable(value) and not attributes(value))


def attributes(value: Any) -> dict[str, Any]:
    """The attributes of an object of this program; of others none."""
    if not type(value).__module__.startswith(OWN):
        return {}
    slots = (name for kind in type(value).__mro__ for name in getattr(kind, "__slots__", ()))
    found = {name: getattr(value, name) for name in slots if hasattr(value, name)}
    return {**found, **getattr(value, "__dict__", {})}


class StateWriter:
    """Writes the state of one object again and again; later snapshots leave out what is as it was.

    `skipped` names attributes, by their path, that are kept in another way.
    """

    def __init__(self, skipped: frozenset[str] = frozenset()) -> None:
        self.skipped = skipped
        self.digests: dict[str, str] = {}

    def write(self, value: Any, *, full: bool) -> bytes:
        """The state. Raises SnapshotError for a value that has no form."""
        known = {} if full else self.digests
        self.digests, blobs = {}, []

        def blob(path: str, octets: bytes) -> Tree:
            told = blake2b(octets, digest_size=16).hexdigest()
            self.digests[path] = told
            if known.get(path) == told:
                return {"same": told}
            blobs.append(octets)
            return {"at": len(blobs) - 1, "digest": told}

        tree = {"format": FORMAT, "state": self._object(value, "", blob)}
        heading = json.dumps([tree, [len(octets) for octets in blobs]]).encode()
        return b"".join([MAGIC, len(heading).to_bytes(8, "little"), heading, *blobs])

    def _object(self, value: Any, path: str, blob: Callable[[str, bytes], Tree]) -> Tree:
        """An object's attributes."""
        found = {
            name: self._tree(held, f"{path}.{name}", blob)
            for name, held in attributes(value).items()
            if f"{path}.{name}" not in self.skipped and not is_given(held)
        }
        kind = type(value)
        return {"object": f"{kind.__module__}:{kind.__qualname__}", "has": found}

    def _tree(self, value: Any, path: str, blob: Callable[[str, bytes], Tree]) -> Tree:  # noqa: PLR0911 - one return a kind
        """Any value."""
        if type(value) in PLAIN:
            return value
        if isinstance(value, np.generic):
            return {"scalar": value.dtype.str, "value": value.item()}
        if isinstance(value, np.ndarray):
            return {"array": blob(path, npy(value))}
        if isinstance(value, pl.DataFrame | pl.Series):
            frame = value if isinstance(value, pl.DataFrame) else value.to_frame()
            return {type(value).__name__: blob(path, ipc(frame))}
        if isinstance(value, Topology):
            return {"topology": value.valid_from_ns}
        kind = type(value).__name__
        if kind in MAPPINGS and isinstance(value, dict):
            items = [
                [self._tree(key, f"{path}[key]", blob), self._tree(held, f"{path}[{key!r}]", blob)]
                for key, held in value.items()
            ]
            return {kind: items}
        if kind in SEQUENCES:
            held = sorted(value) if isinstance(value, set | frozenset) else value
            return {kind: [self._tree(each, f"{path}[{at}]", blob) for at, each in enumerate(held)]}
        if attributes(value) or hasattr(value, "_fields"):
            return self._own(value, path, blob)
        raise SnapshotError(f"the state has no form for {path}, a {type(value).__qualname__}")

    def _own(self, value: Any, path: str, blob: Callable[[str, bytes], Tree]) -> Tree:
        """An object of this program, or a named tuple."""
        if not hasattr(value, "_fields"):
            return self._object(value, path, blob)
        parts = [self._tree(each, f"{path}[{at}]", blob) for at, each in enumerate(value)]
        kind = type(value)
        return {"named": f"{kind.__module__}:{kind.__qualname__}", "parts": parts}


class StateReader:
    """Puts the snapshots of one object back, a full one and then those that followed."""

    def __init__(self, versions: Versions, skipped: frozenset[str] = frozenset()) -> None:
        self.versions, self.skipped = versions, skipped
        self.digests: dict[str, str] = {}
        self._held: dict[str, Any] = {}
        self._blobs: list[bytes] = []
        self._found: dict[str, tuple[str, Any]] = {}

    def read(self, value: Any, octets: bytes | memoryview) -> None:
        """Put a snapshot into an object. Raises SnapshotError for one that does not fit."""
        tree, blobs = opened(octets)
        self._blobs, self._found = blobs, {}
        self._fill(value, tree["state"], "")
        self.digests = {path: digest for path, (digest, _) in self._found.items()}
        self._held = dict(self._found.values())

    def _fill(self, value: Any, tree: Tree, path: str) -> None:
        """Set an object's attributes."""
        kind = type(value)
        if tree.get("object") != f"{kind.__module__}:{kind.__qualname__}":
            raise SnapshotError(f"the state of {path or 'all'} is of {tree.get('object')}")
        known = attributes(value)
        for name, held in tree["has"].items():
            here, mine = f"{path}.{name}", known.get(name)
            if here in self.skipped:  # an older version may have kept it
                continue
            if name not in known and not hasattr(kind, name):
                raise SnapshotError(f"the state has {here}, which this version does not know")
            if isinstance(held, dict) and "object" in held and same_class(mine, held):
                self._fill(mine, held, here)
            else:
                put(value, name, self._value(held, here))

    def _value(self, tree: Tree, path: str) -> Any:  # noqa: PLR0911 - one return a kind
        """Any value."""
        if not isinstance(tree, dict):
            return tree
        if "scalar" in tree:
            return np.dtype(tree["scalar"]).type(tree["value"])
        if "topology" in tree:
            return next(
                (each for each in self.versions.topologies
                 if each.valid_from_ns == tree["topology"]), None
            )  # fmt: skip
        if "object" in tree:
            made: Any = object.__new__(own_class(tree["object"]))
            for name, held in tree["has"].items():
                put(made, name, self._value(held, f"{path}.{name}"))
            return made
        if "named" in tree:
            return tuple.__new__(own_tuple(tree["named"]), self._parts(tree["parts"], path))
        [(kind, held)] = tree.items()
        if kind in MAPPINGS:
            return MAPPINGS[kind](
                (self._value(key, f"{path}[key]"), self._item(key, each, path))
                for key, each in held
            )
        if kind in SEQUENCES:
            return SEQUENCES[kind](self._parts(held, path))
        return self._octets(kind, held, path)

    def _item(self, key: Tree, held: Tree, path: str) -> Any:
        """A value of a mapping."""
        return self._value(held, f"{path}[{self._value(key, path)!r}]")

    def _parts(self, held: list[Tree], path: str) -> Iterator[Any]:
        return (self._value(each, f"{path}[{at}]") for at, each in enumerate(held))

    def _octets(self, kind: str, held: Tree, path: str) -> Any:
        """An array or a table, also one that is as it was."""
        if "same" in held:
            if held["same"] not in self._held:
                raise SnapshotError(f"the snapshot before this one lacks {path}")
            digest, made = held["same"], self._held[held["same"]]
        else:
            digest, made = held["digest"], read_octets(kind, self._blobs[held["at"]])
        self._found[path] = digest, made
        return made.copy() if isinstance(made, np.ndarray) else made


def opened(octets: bytes | memoryview) -> tuple[Tree, list[bytes]]:
    """The tree of a snapshot and what stands behind it."""
    if octets[: len(MAGIC)] != MAGIC:
        raise SnapshotError("the octets are no state")
    try:
        at = len(MAGIC) + 8
        size = int.from_bytes(octets[len(MAGIC) : at], "little")
        tree, lengths = json.loads(bytes(octets[at : at + size]))
    except (ValueError, TypeError, RecursionError) as error:
        raise SnapshotError(f"the state cannot be read: {error}") from None
    if tree["format"] != FORMAT:
        raise SnapshotError(f"the state has the format {tree['format']}, and this is {FORMAT}")
    ends = np.cumsum([at + size, *lengths])
    # Each for itself: what is read of one must not keep all others in memory.
    return tree, [bytes(octets[int(a) : int(b)]) for a, b in pairwise(ends)]


def own_class(name: str) -> type:
    """A class of this program by its name."""
    module, _, qualified = name.partition(":")
    if not module.startswith(OWN):
        raise SnapshotError(f"the state names {name}, which is none of this program")
    try:
        made: Any = importlib.import_module(module)
    except ImportError:
        raise SnapshotError(f"the state names {name}, which this version lacks") from None
    for part in qualified.split("."):
        made = getattr(made, part, None)
    # What a module has imported is not its own: a state must not reach through it to others.
    if not isinstance(made, type) or made.__module__ != module:
        raise SnapshotError(f"the state names {name}, which is no class")
    return made


def own_tuple(name: str) -> type[tuple[Any, ...]]:
    """A named tuple of this program by its name."""
    made = own_class(name)
    if not (issubclass(made, tuple) and hasattr(made, "_fields")):
        raise SnapshotError(f"the state names {name}, which is no named tuple")
    return made


def same_class(value: object, tree: Tree) -> bool:
    """Whether an object is of the class that a tree tells of."""
    return bool(f"{type(value).__module__}:{type(value).__qualname__}" == tree["object"])


def put(value: Any, name: str, held: Any) -> None:
    """Set an attribute, also of what is frozen and of what is computed once."""
    if name in getattr(value, "__dict__", {}) or isinstance(
        getattr(type(value), name, None), cached_property
    ):
        value.__dict__[name] = held
    else:
        object.__setattr__(value, name, held)


def npy(array: np.ndarray[Any, Any]) -> bytes:
    """An array as octets; never one of objects."""
    buffer = io.BytesIO()
    np.save(buffer, array, allow_pickle=False)
    return buffer.getvalue()


def ipc(frame: pl.DataFrame) -> bytes:
    """A table as octets, the same for the same rows.

    Packed from where it lies: state is many times larger, and copies of it would cost more.
    """
    table, buffer = frame.rechunk().to_arrow(), io.BytesIO()
    with pa.ipc.new_stream(buffer, table.schema, options=PACKED) as stream:
        stream.write_table(table)
    return buffer.getvalue()


def read_octets(kind: str, octets: bytes) -> Any:
    """An array or a table of octets; a table is read where it lies, without a copy."""
    try:
        if kind == "array":
            return as_made(np.load(io.BytesIO(octets), allow_pickle=False))
        table = pa.ipc.open_stream(octets).read_all()
        table.validate(full=True)  # Polars believes what Arrow hands over
    except (ValueError, pa.ArrowException) as error:
        raise SnapshotError(f"the state is damaged: {error}") from None
    return pl.DataFrame(table).to_series() if kind == "Series" else pl.DataFrame(table)
