"""What another autonomous system gets: ratios and changed addresses, and nothing else."""

import json
import re
from collections.abc import Callable, Iterator
from ipaddress import IPv6Network, ip_address, ip_network
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from empty_store import empty_store
from hypothesis import given
from hypothesis import strategies as st
from yacryptopan import CryptoPAn

from pipeline import TABLES, Store, open_or_ask
from service.anonymous import Anonymiser, anonymised, exported
from service.export_key import KEY_VARIABLE, ExportKeyError, export_key
from service.routes.span import Span
from service.routes.te import Covering, covered

PUBLISHED_KEY = bytes(
    [21, 34, 23, 141, 51, 164, 207, 128, 19, 10, 91, 22, 73, 144, 125, 16,
     216, 152, 143, 131, 121, 121, 101, 39, 98, 87, 76, 45, 42, 132, 34, 2]
)  # fmt: skip
PUBLISHED = (
    ("128.11.68.132", "135.242.180.132"), ("129.118.74.4", "134.136.186.123"),
    ("130.132.252.244", "133.68.164.234"), ("141.223.7.43", "141.167.8.160"),
    ("141.233.145.108", "141.129.237.235"), ("152.163.225.39", "151.140.114.167"),
    ("156.29.3.236", "147.225.12.42"), ("165.247.96.84", "162.9.99.234"),
    ("166.107.77.190", "160.132.178.185"), ("192.102.249.13", "252.138.62.131"),
    ("192.215.32.125", "252.43.47.189"), ("192.233.80.103", "252.25.108.8"),
    ("192.41.57.43", "252.222.221.184"), ("193.150.244.223", "253.169.52.216"),
    ("195.205.63.100", "255.186.223.5"), ("198.200.171.101", "249.199.68.213"),
    ("198.26.132.101", "249.36.123.202"), ("198.36.213.5", "249.7.21.132"),
    ("198.51.77.238", "249.18.186.254"), ("199.217.79.101", "248.38.184.213"),
)  # fmt: skip
"""Key and pairs of the sample that its authors publish with Crypto-PAn 1.0 (Fan, Xu and others)."""
T0, S = 1_760_000_000_000_000_000, 10**9
NAMES = ("leaf1", "Ethernet4", "site-munich", "tenant-blue", "vrf-red")
SECRETS = (*NAMES, "10.1.", "10.2.", "2001:db8")
METRICS = ("u", "utilization", "abw", "delay")
CAPACITY_BPS = 100_000_000_000


@pytest.mark.parametrize(("plain", "told"), PUBLISHED)
def test_the_published_vectors(plain: str, told: str) -> None:
    assert CryptoPAn(PUBLISHED_KEY).anonymize(plain) == told
    assert Anonymiser(PUBLISHED_KEY).prefix(f"{plain}/32") == f"{told}/32"


@given(st.integers(0, 2**32 - 1), st.integers(0, 32), st.integers(0, 2**32 - 1))
def test_what_shared_a_prefix_shares_it_still_and_no_more(first: int, bits: int, rest: int) -> None:
    kept = (2**32 - 1) >> bits
    second = (first & ~kept) | (rest & kept)
    shared = 32 - (first ^ second).bit_length()
    known = Anonymiser(PUBLISHED_KEY)
    changed = [int(ip_network(known.prefix(f"{ip_address(n)}/32"))[0]) for n in (first, second)]
    assert 32 - (changed[0] ^ changed[1]).bit_length() == shared


@given(st.integers(0, 2**128 - 1), st.integers(0, 127))
def test_prefixes_of_ipv6_are_kept_too(address: int, length: int) -> None:
    known = Anonymiser(PUBLISHED_KEY)
    outer = IPv6Network((address, length), strict=False)
    inner = IPv6Network((address, length + 1), strict=False)
    changed = [IPv6Network(known.prefix(str(network))) for network in (inner, outer)]
    assert changed[0].subnet_of(changed[1])


def stored() -> pl.DataFrame:
    """Paths of real names and rates by every scope, links beside them."""
    told = {
        "time_ns": T0, "tenant": "tenant-blue", "vrf": "vrf-red", "vni": "7001", "dscp": 0,
        "samples": 100, "u_hist": {"bucket": [70, 84], "samples": [60, 40]}, "u_max_n": 2 * 10**9,
        "utilization_hist": {"bucket": [75], "samples": [100]}, "utilization_max_n": 910_000_000,
        "abw_hist": {"bucket": [150], "samples": [100]}, "abw_min_bps": CAPACITY_BPS // 7,
        "abw_max_bps": CAPACITY_BPS, "delay_hist": {"bucket": [90], "samples": [100]},
        "delay_max_ns": 123_457, "data_bytes": 987_654_321, "affected_bytes": 87_654_321,
        "data_frames": 200,
    }  # fmt: skip
    empty: dict[str, Any] = {f"{name}_hist": {"bucket": [], "samples": []} for name in METRICS}
    traffic = {"source": "traffic", "samples": 0} | empty
    ends = [
        ("prefix", "10.1.0.0/16", "10.2.7.0/24"),
        ("prefix", "10.1.0.0/16", "2001:db8:7::/64"),
        ("site", "site-munich", "site-oslo"),
        ("device", "leaf1", "leaf2"),
    ]
    made = [
        told | {"scope": scope, "src": src, "dst": dst} | more
        for scope, src, dst in ends
        for more in ({"source": "int", "data_bytes": 0, "affected_bytes": 0}, traffic)
    ]
    schema = {name: TABLES["path_seconds"].schema[name] for name in made[0]}
    return pl.DataFrame(made, schema=schema)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    with empty_store(tmp_path_factory.mktemp("export") / "db") as opened:
        opened.insert("path_seconds", stored(), "paths")
        yield opened


def leaves(tree: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    """Every name, string and number of a document."""
    if isinstance(tree, dict):
        for key, value in tree.items():
            yield "name", key
            yield from leaves(value, key)
    elif isinstance(tree, list):
        for value in tree:
            yield from leaves(value, name)
    else:
        yield name, tree


def test_every_string_and_number_is_a_ratio_or_anonymised(store: Store) -> None:
    asked = {"from_ns": T0, "to_ns": T0 + S, "dscp": -1, "rows": 100, "src": "", "dst": ""}
    rows = store.query("te_paths", rollup="path_seconds", scope="prefix", **asked)
    about = covered(rows, Covering(Span(T0, T0 + 3 * S), S, 2 / 3))
    found = exported(anonymised(rows, Anonymiser(PUBLISHED_KEY)), about)
    assert (found["interval"]["covered"], found["captured"]) == (1 / 3, 0.667)
    assert 0 < found["completeness"] == float(f"{found['completeness']:.3g}") <= found["captured"]
    assert len(found["paths"]) == 2
    text = json.dumps(found, allow_nan=False)
    for secret in (*SECRETS, PUBLISHED_KEY.hex()):
        assert secret not in text
    times = {"time_ns", "from_ns", "to_ns", "step_ns"}
    counted = {"dscp", "network"}
    for name, value in leaves(found):
        assert not re.search(r"bps|byte|frame|device|node|port|interface|site|tenant|vrf|vni|delay",
                             str(value if name == "name" else "")), value  # fmt: skip
        if isinstance(value, int | float) and name not in times | counted:
            assert -10 <= value <= 10, (name, value)
        elif isinstance(value, str) and name in {"src", "dst"}:
            assert ip_network(value).prefixlen in (16, 24, 64)
        elif isinstance(value, str) and name not in {"name", "from", "to"}:
            assert value in {"Crypto-PAn", "int", ""}, (name, value)
    assert found["paths"][0]["share"] == pytest.approx(0.5)
    assert found["paths"][0]["affected_share"] == pytest.approx(87_654_321 / 987_654_321, rel=1e-2)


def rows_of(**told: Any) -> pl.DataFrame:
    """Rows as the question gives them, of which a test sets some columns."""
    names = ("u_p50", "u_p90", "u_p99", "u_max", "utilization_p50", "utilization_p90",
             "utilization_p99", "utilization_max", "headroom_ratio", "completeness")  # fmt: skip
    plain: dict[str, Any] = dict.fromkeys(names, 0.5) | {
        "time_ns": T0, "tenant": "", "vrf": "", "vni": "", "src": "10.1.0.0/16",
        "dst": "10.2.7.0/24", "dscp": 0, "u_source": "int", "utilization_source": "int",
        "data_bytes": 1, "affected_bytes": 0,
    }  # fmt: skip
    return pl.DataFrame(plain | told)


@given(st.integers(2, 10**7), st.data())
def test_counts_cannot_be_had_back_from_their_quotients(sent: int, data: st.DataObject) -> None:
    """The continued fraction of a quotient of counts ends at the counts: it must have no digits."""
    held = data.draw(st.integers(1, sent))
    ratios = {"completeness": held / sent, "u_max": 1 + held / sent}
    rows = rows_of(data_bytes=[sent, 10**7 - 9], affected_bytes=[held, 1], **ratios)
    told = anonymised(rows, Anonymiser(PUBLISHED_KEY))
    for name in ("share", "affected_share", "completeness", "u_max"):
        for value in told[name]:
            assert value == float(f"{value:.3g}"), name


def test_numbers_of_address_spaces_tell_no_order_and_stay_the_same() -> None:
    known = Anonymiser(PUBLISHED_KEY)
    tenants = [f"tenant-{letter}" for letter in "abcdefghij"]
    told = anonymised(rows_of(tenant=tenants, src=[f"10.{n}.0.0/16" for n in range(10)]), known)
    numbers = dict(zip(told["src"], told["network"], strict=True))
    in_order = [numbers[known.prefix(f"10.{n}.0.0/16")] for n in range(10)]
    assert in_order != sorted(in_order)
    assert len(set(in_order)) == 10
    alone = anonymised(rows_of(tenant=["tenant-c"], src=["10.2.0.0/16"]), known)
    assert alone["network"].to_list() == [in_order[2]]
    other = anonymised(rows_of(tenant=["tenant-c"]), Anonymiser(PUBLISHED_KEY[::-1]))
    assert other["network"].to_list() != [in_order[2]]


def test_the_key_comes_from_the_environment_or_a_private_file_and_is_never_told(
    tmp_path: Path,
) -> None:
    secret = PUBLISHED_KEY.hex()
    file = tmp_path / "key"
    file.write_text(f"{secret}\n")
    file.chmod(0o600)
    assert export_key({KEY_VARIABLE: secret}, None) == export_key({}, file) == PUBLISHED_KEY
    file.chmod(0o644)
    for environment, path, said in (
        ({}, None, "there is no key"),
        ({}, file, "can be read by others"),
        ({}, tmp_path / "none", "No such file"),
        ({KEY_VARIABLE: secret[:-2]}, None, "is no key"),
        ({KEY_VARIABLE: "z" * 64}, None, "is no key"),
    ):
        with pytest.raises(ExportKeyError, match=said) as refused:
            export_key(environment, path)
        assert secret[:12] not in str(refused.value)
        assert "zzz" not in str(refused.value)
    assert repr(PUBLISHED_KEY) not in repr(Anonymiser(PUBLISHED_KEY))


def test_the_command_prints_json_whether_it_is_asked_for_or_not(
    hopsight: Any, serve: Callable[[str], Any], tmp_path: Path
) -> None:
    service, key = serve(f"chdb://{tmp_path}/store"), tmp_path / "key"
    key.write_text(PUBLISHED_KEY.hex())
    key.chmod(0o600)
    asked = ("export", "--anonymised", "--interval", "1s", "--key-file", str(key))
    try:
        with open_or_ask(service.dsn) as owned:
            owned.insert("path_seconds", stored(), "paths")
        plain, as_json = (
            hopsight.here(*asked, "--store", service.dsn, *more) for more in ((), ("--json",))
        )
    finally:
        service.stop()
    assert (plain.returncode, plain.stderr) == (0, "")
    assert as_json.stdout == plain.stdout
    assert len(json.loads(plain.stdout)["paths"]) == 2
