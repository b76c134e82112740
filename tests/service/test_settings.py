"""Settings: their order, and the sentence for each way to get one wrong."""

import tomllib
from pathlib import Path
from typing import Any

import pytest

from service import settings
from service.commands.settings import run
from service.failure import Failure
from service.settings import SettingsError, load


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_flag_over_environment_over_file_over_default(
    elsewhere: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert load().service.port == 8470
    (elsewhere / "hopsight.toml").write_text("[service]\nport = 1001\nmax_rows = 7\n")
    assert load().service.port == 1001
    monkeypatch.setenv("HOPSIGHT_SERVICE__PORT", "1002")
    assert load().service.port == 1002
    assert load({"service": {"port": 1003}}).service.port == 1003
    assert load({"service": {"port": None}}).service.max_rows == 7


def test_serving_others_without_a_login_is_refused(hopsight: Any, tmp_path: Path) -> None:
    store = f"chdb://{tmp_path}/store"
    done = hopsight.run("serve", "--store", store, "--host", "0.0.0.0", "--port", "0")  # noqa: S104 - refused is what is tested
    assert done.returncode == 2
    assert "service.host: '0.0.0.0' can be reached by other machines" in done.stderr
    assert not (tmp_path / "store").exists()


def test_an_empty_host_is_refused() -> None:
    with pytest.raises(SettingsError, match=r"service\.host: "):
        load({"service": {"host": ""}})


@pytest.mark.parametrize(
    ("variable", "value", "sentence"),
    [
        ("HOPSIGHT_SERVICE__PROT", "1", "did you mean HOPSIGHT_SERVICE__PORT"),
        ("HOPSIGHT_SERVICE__PORT", "x", "service.port: should be a valid integer"),
        ("HOPSIGHT_PIPELINE__INTERVAL_MS", "0", "pipeline.interval_ms: should be greater than"),
        (
            "HOPSIGHT_COLLECTOR__CSIG_COMPACT_TPIDS",
            "many",
            "should be a list, such as",
        ),
        ("HOPSIGHT_SETTINGS", "nowhere.toml", "there is no file nowhere.toml"),
    ],
)
def test_a_wrong_variable_is_named(
    variable: str, value: str, sentence: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable, value)
    with pytest.raises(SettingsError, match=sentence):
        load()


@pytest.mark.parametrize("value", ["[39168, 39170]", "[0x9900, 0x9902]"])
def test_a_list_is_written_as_json_or_as_in_a_file(
    value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOPSIGHT_COLLECTOR__CSIG_COMPACT_TPIDS", value)
    assert set(load().collector.csig_compact_tpids) == {0x9900, 0x9902}


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("[service]\nprot = 1\n", "did you mean service.port"),
        ("[nowhere]\nx = 1\n", "nowhere: there is no such setting"),
        ("[colector]\nint_dscp = 1\n", "did you mean collector?"),
        ("[service\n", "cannot be read"),
    ],
)
def test_a_wrong_file_is_named(elsewhere: Path, text: str, sentence: str) -> None:
    (elsewhere / "hopsight.toml").write_text(text)
    with pytest.raises(SettingsError, match=sentence):
        load()


def test_the_dump_is_a_settings_file(elsewhere: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(check=False, dump=True, json=False)
    dumped = capsys.readouterr().out
    tomllib.loads(dumped)
    before = load()
    (elsewhere / "hopsight.toml").write_text(dumped)
    assert load() == before
    for name, variable, _, doc in settings.rows():
        assert name.rpartition(".")[2] in dumped
        assert doc.endswith("."), f"{name}: {doc!r} is no sentence"
        assert variable in dumped


def test_the_dump_shows_no_password(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HOPSIGHT_STORE__DSN", "https://sre:secret@store.example:8443/hopsight")
    run(check=False, dump=True, json=False)
    shown = capsys.readouterr().out
    assert "https://store.example:8443/hopsight" in shown
    assert "secret" not in shown


@pytest.mark.parametrize("written", ['"none"', "'none'"])
def test_none_takes_a_value_away_and_the_dump_says_so(
    elsewhere: Path, capsys: pytest.CaptureFixture[str], written: str
) -> None:
    file = elsewhere / "hopsight.toml"
    file.write_text(f"[collector]\ncsig_echo_exid = {written}\nint_dscp = 3\n")
    assert load().collector.csig_echo_exid is None
    assert load({"collector": {"int_dscp": "none"}}).collector.int_dscp is None
    assert load({"collector": {"tenant": "none"}}).collector.tenant == "none"
    assert load({"bus": {"sasl": "none"}}).bus.sasl == "none"
    run(check=False, dump=True, json=False)
    file.write_text(capsys.readouterr().out)
    assert load().collector.csig_echo_exid is None
    with pytest.raises(SettingsError, match=r"collector\.tcp_int_kind: .*given: 'none'"):
        load({"collector": {"tcp_int_kind": "none"}})


@pytest.mark.parametrize(
    "name",
    ["collector.ring_directory", "bus.url", "bus.spill_directory", "store.cluster",
     "store.retention_bytes", "service.tokens_file", "service.tls_certificate", "process.metrics"],
)  # fmt: skip
def test_none_takes_away_what_a_file_of_settings_says(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    section, _, field = name.partition(".")
    file = tmp_path / "site.toml"
    file.write_text(
        f"[{section}]\n{field} = {1 << 30 if field.endswith('bytes') else repr('/x')}\n"
    )
    monkeypatch.setenv("HOPSIGHT_SETTINGS", str(file))
    monkeypatch.setenv(f"HOPSIGHT_{section}__{field}".upper(), "none")
    assert getattr(getattr(load(), section), field) is None


@pytest.mark.parametrize(
    ("variable", "text", "sentence"),
    [
        ("HOPSIGHT_PIPELINE__TOPOLOGY", None, r"pipeline\.topology: .*named"),
        ("HOPSIGHT_PIPELINE__TOPOLOGY", "devices: 3", r"pipeline\.topology: .*named"),
        ("HOPSIGHT_SERVICE__ALERTS_FILE", None, r"service\.alerts_file: .*named"),
        ("HOPSIGHT_SERVICE__ALERTS_FILE", "[[rule]]", r"service\.alerts_file: .*named"),
        ("HOPSIGHT_SERVICE__EXPORT_KEY_FILE", "short", r"service\.export_key_file: .*named"),
    ],
)
def test_a_check_reads_the_files_that_settings_name(
    variable: str, text: str | None, sentence: str, elsewhere: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(check=True, dump=False, json=False)
    if text is not None:
        (elsewhere / "named").write_text(text)
        (elsewhere / "named").chmod(0o600)
    monkeypatch.setenv(variable, "named")
    for check in (True, False):
        with pytest.raises(Failure, match=sentence):
            run(check=check, dump=False, json=False)


def test_a_file_that_cannot_be_read_is_named(elsewhere: Path) -> None:
    for octets in (b"\xff", b"\xef\xbb\xbf[service]\n", b"x = " + b"[" * 9999):
        (elsewhere / "hopsight.toml").write_bytes(octets)
        with pytest.raises(SettingsError, match=r"settings cannot be read: hopsight\.toml: "):
            load()


@pytest.mark.parametrize(
    ("name", "value", "sentence"),
    [
        ("int_domain", [["tx_bytes", 7]], "multiple of 8"),
        ("int_domain", [["tx_bytes", 128]], "less than or equal to 64"),
        ("int_domain", [["tx_bytes", -8]], "greater than or equal to 8"),
        ("int_domain", [["reserved", 32]] * 17, "at most 16 items"),
        ("int_source", [["word", 32]] * 129, "at most 128 items"),
        ("int_udp_ports", [*range(1, 66)], "at most 64 items"),
        ("int_occupancy_bytes", 1 << 64, "less than or equal to 4294967296"),
        ("ioam_queue_bytes", 1 << 33, "less than or equal to 4294967296"),
        ("ifa_cell_bytes", 1 << 63, "less than or equal to 4294967296"),
        ("hpcc_multi", 1 << 70, "less than or equal to 4294967296"),
        ("erspan_user_tick_ns", 1 << 70, "less than or equal to 1000000000"),
        ("int_utilization_full", 1 << 70, "less than 4294967296"),
        ("report_utilization_full", 1 << 70, "less than 4294967296"),
        ("csig_quanta", {"0": float("inf")}, "finite number"),
        ("csig_bases", {"0": float("nan")}, "finite number"),
        ("csig_buckets", {"0": [0.0, float("inf")]}, "finite number"),
        ("aecn_queue_delay_ns", float("inf"), "finite number"),
        ("csig_compact_tpids", [0x9900, 0x8100], "0x8100 is the ethertype of another header"),
        ("csig_expanded_tpids", [0x0800], "0x0800 is the ethertype of another header"),
    ],
)
def test_what_no_table_could_be_made_of_is_refused(name: str, value: object, sentence: str) -> None:
    with pytest.raises(SettingsError, match=rf"collector\.{name}.*{sentence}"):
        load({"collector": {name: value}})


@pytest.mark.parametrize(
    "given",
    [
        {"csig_compact_tpids": [0x9901]},
        {"csig_expanded_tpids": [0x9902, 0x9900]},
        {"csig_compact_tpids": [0x9903], "csig_expanded_tpids": [0x9903]},
    ],
)
def test_a_tpid_of_both_variants_is_refused(given: dict[str, object]) -> None:
    with pytest.raises(SettingsError, match="is one of csig_expanded_tpids too"):
        load({"collector": given})


def test_a_dscp_outside_its_mask_is_refused() -> None:
    with pytest.raises(SettingsError, match="compares none of the bits that int_dscp sets"):
        load({"collector": {"int_dscp": 0x20, "int_dscp_mask": 1}})
    assert load({"collector": {"int_dscp": 0x23, "int_dscp_mask": 0x20}}).collector.int_dscp == 0x23
    assert load({"collector": {"int_dscp": 0, "int_dscp_mask": 1}}).collector.int_dscp == 0
