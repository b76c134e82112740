"""Settings: their order, and the sentence for each way to get one wrong."""

import tomllib
from pathlib import Path

import pytest

from service import settings
from service.commands.settings import run
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


@pytest.mark.parametrize(
    "host",
    [
        "0.0.0.0",  # noqa: S104 refused is what is tested
        "::",
        "10.0.0.1",
        "example.org",
        "",
    ],
)
def test_only_loopback_is_accepted(host: str) -> None:
    with pytest.raises(
        SettingsError, match=r"service\.host: .*accepted: 127\.0\.0\.1, ::1, localhost"
    ):
        load({"service": {"host": host}})


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


@pytest.mark.parametrize("value", ["[39168, 39169]", "[0x9900, 0x9901]"])
def test_a_list_is_written_as_json_or_as_in_a_file(
    value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOPSIGHT_COLLECTOR__CSIG_COMPACT_TPIDS", value)
    assert set(load().collector.csig_compact_tpids) == {0x9900, 0x9901}


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("[service]\nprot = 1\n", "did you mean service.port"),
        ("[nowhere]\nx = 1\n", "nowhere: there is no such setting"),
        ("[service\n", "cannot be read"),
    ],
)
def test_a_wrong_file_is_named(elsewhere: Path, text: str, sentence: str) -> None:
    (elsewhere / "hopsight.toml").write_text(text)
    with pytest.raises(SettingsError, match=sentence):
        load()


def test_the_dump_is_a_settings_file(elsewhere: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(dump=True, json=False)
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
    run(dump=True, json=False)
    shown = capsys.readouterr().out
    assert "https://store.example:8443/hopsight" in shown
    assert "secret" not in shown
