"""HTTPS: what clients of a service are shown, and what is said of certificates that end."""

import json
import re
import ssl
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from certificates import Pair
from cryptography import x509

from service.failure import Failure
from service.tls import SOON_DAYS, Tls

TAKEN_S = 10.0


@pytest.fixture
def pair(tmp_path: Path) -> Pair:
    made = Pair(tmp_path / "chain.pem", tmp_path / "key.pem")
    made.put(90)
    made.older()
    return made


@pytest.fixture
def secure(pair: Pair, hopsight: Any, tmp_path: Path) -> Iterator[Callable[[], str]]:
    """A service over HTTPS: gives its address."""
    settings = tmp_path / "hopsight.toml"
    settings.write_text(
        f'[store]\ndsn = "chdb://{tmp_path}/store"\n[service]\nport = 0\n'
        f'tls_certificate = "{pair.certificate}"\ntls_key = "{pair.key}"\n'
    )
    process = hopsight.start("--settings", str(settings), "serve")

    def url() -> str:
        line = process.stdout.readline()
        return re.findall(r"https://127\.0\.0\.1:\d+", line)[0]

    try:
        yield url
    finally:
        process.terminate()
        process.communicate(timeout=20)


def shown(url: str) -> x509.Certificate:
    """The certificate that a service shows."""
    host, port = url.removeprefix("https://").split(":")
    return x509.load_pem_x509_certificate(ssl.get_server_certificate((host, int(port))).encode())


def trusted(pair: Pair) -> ssl.SSLContext:
    """Who trusts that certificate alone."""
    return ssl.create_default_context(cafile=str(pair.certificate))


def test_a_renewed_certificate_is_shown_without_a_restart(
    pair: Pair, secure: Callable[[], str]
) -> None:
    url = secure()
    first = shown(url)
    assert httpx.get(f"{url}/healthz", verify=trusted(pair)).status_code == 200
    pair.put(365)
    until = time.monotonic() + TAKEN_S
    while (now := shown(url)).serial_number == first.serial_number:
        assert time.monotonic() < until
        time.sleep(0.2)
    answer = httpx.get(f"{url}/metrics", verify=trusted(pair))
    [end] = re.findall(
        r"hopsight_tls_certificate_end_timestamp_seconds ([\d.e+]+)$", answer.text, re.MULTILINE
    )
    assert float(end) == now.not_valid_after_utc.timestamp()


def test_of_a_pair_that_does_not_fit_nothing_is_taken(
    pair: Pair, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    tls = Tls(*pair)
    before = tls.to_ns
    whole = pair.certificate.read_bytes(), pair.key.read_bytes()
    other = Pair(tmp_path / "other.pem", tmp_path / "other_key.pem")
    other.put(400)
    pair.certificate.write_bytes(other.certificate.read_bytes())
    tls.renew()
    assert "refused, the one before holds" in caplog.text
    assert tls.to_ns == before
    caplog.clear()
    tls.renew()
    assert not caplog.records, "a pair that is refused is told once"
    pair.key.write_bytes(other.key.read_bytes())
    tls.renew()
    assert tls.to_ns == Tls(*other).to_ns
    pair.key.unlink()
    tls.renew()
    assert "refused" in caplog.text
    pair.certificate.write_bytes(whole[0])
    pair.key.write_bytes(whole[1])
    tls.renew()
    assert tls.to_ns == before


@pytest.mark.parametrize(
    ("days", "since", "state", "said"),
    [
        (90, -1, "ok", "valid until"),
        (SOON_DAYS - 1, -1, "warning", "only"),
        (-1, -90, "broken", "is valid no more since"),
        (90, 1, "broken", "is not valid before"),
    ],
)
def test_doctor_says_for_how_long_a_certificate_is_valid(
    pair: Pair, hopsight: Any, tmp_path: Path, days: float, since: float, state: str, said: str
) -> None:
    pair.put(days, since)
    settings = tmp_path / "hopsight.toml"
    settings.write_text(
        f'[store]\ndsn = "chdb://{tmp_path}/store"\n[service]\n'
        f'tls_certificate = "{pair.certificate}"\ntls_key = "{pair.key}"\n'
    )
    told = hopsight.here("--settings", str(settings), "doctor", "--json")
    [found] = [each for each in json.loads(told.stdout) if each["stage"] == "certificate"]
    assert found["state"] == state, found
    assert said in found["seen"]
    assert bool(found["advice"]) == (state != "ok")


def test_the_first_of_a_chain_to_end_is_its_end(pair: Pair, tmp_path: Path) -> None:
    above = Pair(tmp_path / "above.pem", tmp_path / "above_key.pem")
    above.put(30)
    end = Tls(*above).to_ns
    with pair.certificate.open("ab") as chain:
        chain.write(above.certificate.read_bytes())
    assert Tls(*pair).to_ns == end


def test_who_serves_by_what_clients_refuse_is_told(
    pair: Pair, caplog: pytest.LogCaptureFixture
) -> None:
    pair.put(-1, -90)
    Tls(*pair).warn()
    assert "is valid no more since" in caplog.text


def test_a_certificate_that_is_none_is_named(pair: Pair) -> None:
    pair.certificate.write_text("none")
    with pytest.raises(Failure, match=r"service\.tls_certificate"):
        Tls(*pair)
