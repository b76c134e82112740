"""The Lua dissectors, run by a real tshark, show what the decoder reads from the same frames."""

import random
import tomllib
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
from lua_shown import REASONS, TELEMETRY, Shown, Told, hold, mutated, showing
from octets import INT_UDP, aecn_frame, ethernet, ipv4, tcp, udp

from collector import CollectorSettings, open_capture
from collector.lua.exported import exported
from collector.scalar import Scalar

EXAMPLES = sorted((Path(__file__).resolve().parents[2] / "docs" / "examples").glob("*.toml"))
CAPTURES = sorted((Path(__file__).resolve().parents[3] / "shared" / "captures").glob("*.pcap"))
SEGMENT = ipv4(tcp(payload=b"some data"))
COMPACT = bytes.fromhex("0200000000020200000000018100006499002b850800") + SEGMENT
EXPANDED = bytes.fromhex("020000000002020000000001990112342abcde000800") + SEGMENT
ECHO = ethernet(ipv4(tcp(bytes.fromhex("fd06c5162b85"))))
WIDE_ECHO = ethernet(ipv4(tcp(bytes.fromhex("0101080a0000000100000002fd0ac51612342abcde00"), b"x")))
INT = ethernet(ipv4(INT_UDP, 17))
TCP_INT = ethernet(ipv4(tcp(bytes.fromhex("720c15853e0003e820521234"))))
HOPS = "1042ff3d12e00a190040000136fe74423b9accd6000000000000000000000000"
STACK = bytes.fromhex("ffff1e10" + HOPS + HOPS.replace("42ff3d", "b77f3f"))
IFA_UDP = ethernet(ipv4(bytes.fromhex("2f1100ff27104e20004c0000") + STACK, 253))
IFA_TCP = ethernet(ipv4(bytes.fromhex("2f0600ff") + tcp() + STACK + b"payload", 253))
SIMULATOR = bytes.fromhex("b2a291401f800c00" + "00" * 32 + "0100")
HPCC = ethernet(ipv4(bytes.fromhex("6400409c01000300e8030000") + SIMULATOR, 252))
FRAMES = (
    COMPACT, EXPANDED, ECHO, WIDE_ECHO, aecn_frame(), INT, TCP_INT, IFA_UDP, IFA_TCP, HPCC,
)  # fmt: skip
"""One frame of each carrier, written by hand."""


@pytest.fixture(scope="module")
def shown(tool: Callable[..., str], tmp_path_factory: pytest.TempPathFactory) -> Shown:
    """What tshark shows of frames."""
    return showing(tool("tshark"), tmp_path_factory.mktemp("lua"))


def examples() -> list[Any]:
    """Whole frames of the reference pages, with their settings."""
    found = []
    for path in EXAMPLES:
        frames = tomllib.loads(path.read_text()).get("frame", [])
        found += [
            pytest.param(each, id=f"{path.stem}-{at}")
            for at, each in enumerate(frames)
            if each.get("link", 1) == 1
        ]
    return found


@pytest.fixture(scope="module")
def shown_together(shown: Shown) -> Shown:
    """The same of frames of the reference pages; all that have the same settings in one run."""
    found: dict[str, dict[bytes, Told]] = {}

    def show(packets: Iterable[bytes], settings: CollectorSettings) -> list[Told]:
        key = settings.model_dump_json()
        if key not in found:
            given = [each.values[0] for each in examples()]
            alike = [
                bytes.fromhex(each["octets"])
                for each in given
                if CollectorSettings(**each.get("settings", {})) == settings
            ]
            found[key] = dict(zip(alike, shown(alike, settings), strict=True))
        return [found[key][packet] for packet in packets]

    return show


def test_fields_of_frames_written_by_hand_are_those_of_the_decoder(shown: Shown) -> None:
    assert hold(shown, list(FRAMES), CollectorSettings()) >= 25


@pytest.mark.sampled(24)
@pytest.mark.parametrize("example", examples())
def test_fields_of_the_worked_examples_are_those_of_the_decoder(
    example: dict[str, Any], shown_together: Shown
) -> None:
    settings = CollectorSettings(**example.get("settings", {}))
    packet = bytes.fromhex(example["octets"])
    ours = exported(settings)["headers"]
    own = {name for each in Scalar(settings).read(packet) for name, _ in each.headers} & set(ours)
    kept = {name for name in own for each in ours[name].get("fields", []) if "column" in each}
    assert hold(shown_together, [packet], settings) or not kept


def test_fields_of_damaged_frames_are_those_of_the_decoder(shown: Shown) -> None:
    settings, draw = CollectorSettings(), random.Random(11)
    scalar = Scalar(settings)
    packets = [each for packet in FRAMES for each in mutated(packet, scalar, draw)]
    assert hold(shown, packets, settings) > 3 * len(packets)


@pytest.mark.sampled(8)
@pytest.mark.parametrize("path", CAPTURES, ids=lambda path: path.stem)
def test_fields_of_captures_of_others_are_those_of_the_decoder(path: Path, shown: Shown) -> None:
    with open_capture(path) as capture:
        runs = [run for run in capture.chunks(1 << 16) if len(run)]
    packets = [
        run.data[start : start + held].tobytes()
        for run in runs
        for start, held in zip(run.offset, run.captured, strict=True)
        if (run.link == 1).all()
    ]
    hold(shown, packets[:500], CollectorSettings())


def test_only_telemetry_is_told_to_wireshark() -> None:
    """A header that Wireshark knows belongs into the list of those that are left to it."""
    told = exported(CollectorSettings())["headers"].values()
    layers = {header["layer"] for header in told if "bridge" not in header}
    assert [layer for layer in sorted(layers) if not layer.startswith(TELEMETRY)] == []


CHANGES: dict[str, tuple[object, str]] = {
    "csig_compact_tpids": ((0x1234,), "4660"),
    "csig_layout": ("uec", "uec"),
    "csig_echo_kind": (200, "200"),
    "csig_echo_exid": (0x0C05, "0x0c05"),
    "int_udp_ports": ((9, 11), "9,11"),
    "int_dscp": (0, "0"),
    "aecn_option_types": ((0x1E,), "30"),
    "hpcc_udp_ports": ((100,), "100"),
    "aecn_numbering": ("lsb", "lsb"),
}
"""Settings, other values of theirs, and the same as Wireshark takes them."""
CHANGED = (
    *FRAMES,
    COMPACT.replace(b"\x99\x00", b"\x12\x34"),
    ethernet(ipv4(tcp(bytes.fromhex("c8042b85")))),
    ethernet(ipv4(tcp(bytes.fromhex("fd060c052b85")))),
    ethernet(ipv4(INT_UDP.replace(b"\x02\x2b", b"\x00\x0b", 1), 17)),
    aecn_frame(bytes.fromhex("06011e0700980000501e020103000000")),
    ethernet(ipv4(udp(bytes.fromhex("000003e80003") + SIMULATOR, 100), 17)),
)


@pytest.fixture(scope="module")
def base(shown: Shown) -> list[Told]:
    """What is shown with every preference as it is."""
    return shown(CHANGED, CollectorSettings(), adjustable=True)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", CHANGES)
def test_a_preference_acts_as_its_setting_does(name: str, shown: Shown, base: list[Told]) -> None:
    value, text = CHANGES[name]
    changed = CollectorSettings.model_validate({name: value})
    words = ("-o", f"hopsight.{name}:{text}")
    adjusted = shown(CHANGED, CollectorSettings(), *words, adjustable=True, asked=changed)
    assert adjusted == shown(CHANGED, changed)
    assert adjusted != base


def test_what_is_wrong_is_an_expert_information(shown: Shown) -> None:
    wrong = {
        "int_unsupported_type": INT.replace(b"\x14\x07", b"\x24\x07"),
        "int_unknown_version": INT.replace(b"\x20\x00\x02\x06", b"\x50\x00\x02\x06"),
        "int_bad_length": INT.replace(b"\x14\x07", b"\x14\x06"),
        "aecn_bad_length": aecn_frame(bytes.fromhex("06013e0700ffff00501e020103000000")),
        "truncated": COMPACT[:20],
    }
    every = shown(wrong.values(), CollectorSettings())
    for reason, fields in zip(wrong, every, strict=True):
        assert [REASONS[name] for name in fields if name in REASONS] == [reason]


def test_a_tag_behind_gre_is_found_as_well(shown: Shown) -> None:
    gre = ethernet(ipv4(b"\0\0\x99\0" + bytes.fromhex("2b850800") + SEGMENT, 47))
    assert hold(shown, [gre], CollectorSettings()) == 3


def test_what_is_not_ours_is_left_to_wireshark(shown: Shown) -> None:
    other = ethernet(ipv4(tcp(bytes.fromhex("fd06f9890000"))))
    assert shown([other, ethernet(SEGMENT)], CollectorSettings()) == [{}, {}]
