"""Frames of a capture file held against tshark both ways: nothing that it shows is passed over."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

from shark import ICMP, Agreement, Comparison, Key, dissected

from collector import CollectorSettings, Reading, Scalar, open_capture

OPTION_KINDS = {
    "tcp.option_kind": ("tcp_option", 0), "tcp.option_len": ("tcp_option", -1),
    "ipv6.opt.type": ("ipv6_option", 0), "ipv6.opt.length": ("ipv6_option", -1),
    "geneve.option.length": ("geneve_option", -1),
}  # fmt: skip
"""Fields of options, whose space they are from, and where the option's kind stands from there."""
ENDS = {
    "encrypted": "a header that only says that the rest cannot be read is no header of the row",
    "unknown_ethertype": "what follows is no format of ours (spanning tree, CDP)",
    "fragment": "fragments but the first are counted",
    "bad_version": "a header that is not what its carrier says is no header of the row",
}
"""Reasons that end a frame where tshark goes on, or shows what made us stop."""
MANY = 1 << 14
UNLIKE = {
    "gre-erspan-vxlan": ("vxlan_gpe", "vxlan."),
    # From port 4789 to 4790: tshark 4.0 goes by the lower port, we by the destination's.
    "macsec-snap": ("macsec",),
    # tshark 4.0 looks for no security tag behind LLC and SNAP.
}  # fmt: skip
"""Part of a file's name: a header that tshark reads otherwise there, in our words and in its."""
UNKEPT = ("gre.key", "gre.checksum", "gre.offset")
"""Optional words of GRE, of which only a configured mirror's table has fields."""


@dataclass
class Both(Agreement):
    """What was held, and what tshark alone shows, by the reason why."""

    excused: Counter[tuple[str, str]] = field(default_factory=Counter)
    files: int = 0


def frames(path: Path) -> Iterator[tuple[bytes, int, int]]:
    """Octets, link type and octets on the wire of each frame of a file."""
    with open_capture(path) as capture:
        for run in capture.chunks(MANY):
            for at, start in enumerate(run.offset):
                octets = run.data[start : start + run.captured[at]].tobytes()
                yield octets, int(run.link[at]), int(run.length[at])


class Ways(Comparison):
    """Holds frames of files against tshark, and asks for every field that has not been held."""

    def __init__(self, scalar: Scalar) -> None:
        super().__init__(scalar)
        self.both = self.found = Both()
        self.kinds = {space: {kind for kind, _ in own} for space, own in scalar.options.items()}

    def file(self, tool: Callable[..., str], path: Path, most: int) -> None:
        """Hold the first frames of a file."""
        self.both.files += 1
        unlike = next((what for part, what in UNLIKE.items() if part in path.name), ())
        shown = dissected(tool, path, "-c", str(most))
        for number, (frame, seen) in enumerate(zip(islice(frames(path), most), shown, strict=True)):
            octets, link, length = frame
            before = len(self.found.differences)
            rows, held = self.frame(octets, link, seen, length)
            self.found.differences += self.passed_over(rows, octets, seen, held)
            self.found.differences += self.unshown(rows, seen)
            kept = [each for each in self.found.differences[before:]
                    if not (unlike and each.startswith(unlike))]  # fmt: skip
            where = f"{path.name} frame {number + 1}: "
            self.found.differences[before:] = [where + each for each in kept]

    def unshown(self, rows: list[Reading], seen: Mapping[Key, int]) -> Iterator[str]:
        """Fields of headers that tshark should show."""
        for reading in rows:
            for name, at in reading.headers:
                for place, stands, must in self.plans[name]:
                    there = any((each.name, at + each.octet) in seen for each in stands)
                    if must and not there:
                        yield f"{name}.{place.field.name} at {at}: tshark does not show it"

    def passed_over(
        self, rows: list[Reading], octets: bytes, seen: Mapping[Key, int], held: set[Key]
    ) -> Iterator[str]:
        """Fields that tshark shows and no header of the rows holds, without a reason."""
        carried = min((at for name, at in seen if name in ICMP), default=len(octets))
        for name, at in seen.keys() - held:
            if name not in ICMP:
                why = "in ICMP" if at >= carried else self.excuse(rows, octets, name, at)
                if why is None:
                    yield f"{name} at {at}: not read, {[row.reason for row in rows]}"
                else:
                    self.both.excused[why, name] += 1

    def excuse(self, rows: list[Reading], octets: bytes, name: str, at: int) -> str | None:
        """Why a field that tshark shows is none of the rows'."""
        if name in UNKEPT:
            return "an optional word that only a mirror's table has"
        if name in OPTION_KINDS:
            space, back = OPTION_KINDS[name]
            if octets[at + back] not in self.kinds[space]:
                return "an option that congestion control has no use for"
        for row in rows:
            last, start = row.headers[-1] if row.headers else ("ethernet", 0)
            if row.reason in ENDS and at >= start + self.scalar.tables[last].octets:
                return row.reason
        return None


def both_ways(
    tool: Callable[..., str],
    paths: list[Path],
    most: int,
    settings: CollectorSettings | None = None,
) -> Both:
    """Hold the first frames of these files against tshark, both ways."""
    ways = Ways(Scalar(settings or CollectorSettings()))
    for path in paths:
        ways.file(tool, path, most)
    return ways.both
