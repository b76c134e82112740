"""A broker is shown who we are by files and the environment, never by what is printed."""

import ssl
from pathlib import Path

import pytest
from pydantic import ValidationError

from collector.bus import BusError
from collector.kafka_login import login
from collector.settings.bus import BusSettings


def test_nothing_is_told_without_settings() -> None:
    assert login(BusSettings(), {}) == {"security_protocol": "PLAINTEXT"}


def test_tls_checks_certificate_and_name() -> None:
    told = login(BusSettings(tls=True), {})
    assert told["security_protocol"] == "SSL"
    assert told["ssl_context"].verify_mode == ssl.CERT_REQUIRED
    assert told["ssl_context"].check_hostname


@pytest.mark.parametrize("mechanism", ["SCRAM-SHA-256", "SCRAM-SHA-512"])
def test_a_password_comes_from_its_file_before_the_environment(
    mechanism: str, tmp_path: Path
) -> None:
    file = tmp_path / "password"
    file.write_text("of the file\n")
    file.chmod(0o600)
    environment = {"HOPSIGHT_BUS_PASSWORD": "of the environment"}
    settings = BusSettings.model_validate({"sasl": mechanism, "sasl_user": "hopsight"})
    assert login(settings, environment) == {
        "security_protocol": "SASL_PLAINTEXT",
        "sasl_mechanism": mechanism,
        "sasl_plain_username": "hopsight",
        "sasl_plain_password": "of the environment",
    }
    filed = settings.model_copy(update={"sasl_password_file": str(file)})
    assert login(filed, environment).get("sasl_plain_password") == "of the file"


def test_a_password_that_is_missing_or_open_to_others_is_refused_without_showing_it(
    tmp_path: Path,
) -> None:
    settings = BusSettings.model_validate({"sasl": "SCRAM-SHA-256", "sasl_user": "hopsight"})
    with pytest.raises(BusError, match=r"set HOPSIGHT_BUS_PASSWORD or bus\.sasl_password_file"):
        login(settings, {})
    file = tmp_path / "password"
    file.write_text("hidden")
    file.chmod(0o644)
    filed = settings.model_copy(update={"sasl_password_file": str(file)})
    with pytest.raises(BusError, match="accepted: mode 0600") as told:
        login(filed, {})
    assert "hidden" not in str(told.value)


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"sasl": "PLAIN", "sasl_user": "me"}, "would send the password readable"),
        ({"sasl": "SCRAM-SHA-256"}, "needs sasl_user"),
        ({"tls_key_file": "k"}, "tls_key_file needs tls_cert_file"),
        ({"tls_ca_file": "c"}, "need tls = true"),
    ],
)
def test_halves_are_refused(given: dict[str, str], sentence: str) -> None:
    with pytest.raises(ValidationError, match=sentence):
        BusSettings.model_validate(given)
