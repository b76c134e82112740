"""What whoever is let in, or is not, can do to others: hold them up, see theirs, hide from logs."""

import json
import re
import threading
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import jwt
import pytest
from asked import Asked, opened, strict
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from jwt.algorithms import RSAAlgorithm

from pipeline import Store
from service.access import Identity, Scope
from service.alerts.silence import like
from service.commands import settings
from service.failure import Failure
from service.jobs.kept import Kept
from service.problem import Problem
from service.tls import Tls
from service.tokens import Tokens, digest, line_of, made
from service.web_token import Provider, WebTokens

TOKENS = {name: made() for name in ("blue", "red", "ann")}
LINES = "\n".join(
    line_of(name, *rights, TOKENS[name])
    for name, rights in (
        ("blue", ("read", "blue")), ("red", ("read", "red")), ("ann", ("admin", "*")),
    )
)  # fmt: skip
KEY = rsa.generate_private_key(public_exponent=65537, key_size=2048)
ISSUER = "https://id.example"
WAIT_S = 30


def web_token(algorithm: str = "RS256", name: str = "k1", **claims: Any) -> str:
    told = {"iss": ISSUER, "aud": "hopsight", "sub": "ann", "scope": "read", "tenants": ["blue"],
            "exp": int(time.time()) + 60}  # fmt: skip
    return jwt.encode(told | claims, KEY, algorithm, {"kid": name})


def key_set(**more: Any) -> str:
    own = RSAAlgorithm.to_jwk(KEY.public_key(), as_dict=True) | {"kid": "k1"} | more
    return json.dumps({"keys": [own]})


@pytest.fixture
def keys(tmp_path: Path) -> Path:
    file = tmp_path / "keys.json"
    file.write_text(key_set())
    return file


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    with opened(tmp_path_factory.mktemp("strangers")) as made_store:
        yield made_store


@pytest.fixture
def asked(store: Store) -> Iterator[Asked]:
    with Asked(store, *strict(LINES), address="192.0.2.1") as client:
        yield client


@pytest.mark.parametrize(
    ("wanted", "text", "fits"),
    [
        ("leaf1", "leaf1", True), ("leaf1", "leaf12", False), ("", "", True), ("*", "", True),
        ("leaf*", "leaf1", True), ("*1", "leaf1", True), ("l*f*1", "leaf1", True),
        ("*a*", "leaf1", True), ("a*a", "a", False), ("ab*ba", "aba", False),
        ("*b*", "leaf1", False), ("le*\n*1", "le\nf1", True), ("le.*", "leaf1", False),
        ("*" * 200 + "Z", "leaf1" * 20, False),
        ("*a" * 100 + "*", "a" * 99, False), ("*a" * 100 + "*", "a" * 100, True),
    ],
)  # fmt: skip
def test_a_star_is_any_text_and_no_pattern_takes_for_ever(
    wanted: str, text: str, fits: bool
) -> None:
    assert like(wanted, text) is fits


def test_a_provider_that_does_not_answer_holds_nobody_up(
    keys: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tokens = WebTokens(Provider(ISSUER, "hopsight", str(keys)))
    assert tokens.known(web_token()).name == "ann"
    asking, over, fetched = threading.Event(), threading.Event(), tokens._fetch

    def hanging() -> dict[str, Any]:
        asking.set()
        assert over.wait(WAIT_S)
        return fetched()

    monkeypatch.setattr(tokens, "_fetch", hanging)
    monkeypatch.setattr("service.web_token.REFRESH_S", 0.0)
    said: list[int] = []

    def stranger() -> None:
        with pytest.raises(Problem) as refused:
            tokens.known(web_token(name="k2"))
        said.append(refused.value.status)

    first = threading.Thread(target=stranger)
    first.start()
    assert asking.wait(WAIT_S)
    stranger()
    assert said == [503], "the second does not wait"
    assert tokens.known(web_token()).name == "ann", "whose key is known does not wait either"
    over.set()
    first.join(WAIT_S)
    assert said == [503, 401]


@pytest.mark.parametrize("algorithm", ["RS256", "RS384", "RS512", "PS256", "PS512"])
def test_a_key_that_names_no_algorithm_is_of_each_that_it_can(keys: Path, algorithm: str) -> None:
    tokens = WebTokens(Provider(ISSUER, "hopsight", str(keys)))
    assert tokens.known(web_token(algorithm)).tenants == ("blue",)
    keys.write_text(key_set(alg="RS256"))
    strictly = WebTokens(Provider(ISSUER, "hopsight", str(keys)))
    if algorithm == "RS256":
        assert strictly.known(web_token(algorithm)).name == "ann"
    else:
        with pytest.raises(Problem, match="alg value is not allowed"):
            strictly.known(web_token(algorithm))


@pytest.mark.parametrize("told", ["[]", "null", '{"keys": [1]}', key_set(use="enc"), "[" * 100_000])
def test_what_is_no_set_of_keys_is_none_to_be_had(keys: Path, told: str) -> None:
    keys.write_text(told)
    with pytest.raises(Problem) as refused:
        WebTokens(Provider(ISSUER, "hopsight", str(keys))).known(web_token())
    assert refused.value.status == 503


def test_a_web_token_is_of_nobody_else(keys: Path) -> None:
    tokens = WebTokens(Provider(ISSUER, "hopsight", str(keys)))
    assert tokens.known(web_token(tenants=["", " ", "blue "])).tenants == ("blue",)
    long = [tokens.known(web_token(sub="s" * 70 + end)).name for end in "ab"]
    assert len(set(long)) == 2
    assert {len(name) for name in long} == {64}
    assert tokens.known(web_token(sub="local")).name != "local"


def test_what_a_login_without_tenants_brought_is_its_own() -> None:
    brought = Kept(who="bo", tenants=(), created_ns=0)
    seen = {
        name: brought.seen_by(Identity(name, Scope.OPERATE, tenants))
        for name, tenants in {"bo": (), "eve": (), "red": ("red",), "ann": ("*",)}.items()
    }
    assert seen == {"bo": True, "eve": False, "red": False, "ann": True}


def test_the_audit_log_says_who_and_what_and_no_token(asked: Asked) -> None:
    def newest() -> dict[str, Any]:
        found = asked.get("/api/v1/audit", TOKENS["ann"], limit=1).json()["audit"][0]
        return {**found, "body": json.loads(found["body"] or "null")}

    place, head = "/api/v1/alerts/silences", {"content-type": "application/json"}
    wish = {"matchers": {"alertname": "*"}, "for": "1s"}
    padded = json.dumps(wish) + " " * 5000
    assert asked.ask("POST", place, TOKENS["ann"], content=padded, headers=head).status_code == 201
    assert newest()["body"] == wish
    noted = wish | {"comment": f"as hs_x said: {TOKENS['blue']} and {web_token()}"}
    asked.ask("POST", place, TOKENS["ann"], json=noted)
    assert newest()["body"]["comment"] == "as hs_x said: left out and left out"
    deep = {"matchers": {"token": "sesame", "device": "x" * 200}, "for": "1s"}
    asked.ask("POST", place, TOKENS["ann"], json=deep)
    assert newest()["body"]["matchers"] == {"token": "left out", "device": "x" * 200}
    asked.ask("POST", f"/api/v1/captures?name={TOKENS['red']}.pcap", TOKENS["ann"], content=b"no")
    assert newest()["path"] == "/api/v1/captures?name=left out.pcap"
    query = "name=x&password=sesame&api%4Bey=abcd&key&secret=&a=1;pwd=sesame&b=hs%5Fabcdefgh"
    asked.ask("POST", f"/api/v1/captures?{query}", TOKENS["ann"], content=b"no")
    kept = "name=x&password=left out&api%4Bey=left out&key&secret=left out"
    kept += "&a=1;pwd=left out&b=left out"
    assert newest()["path"] == f"/api/v1/captures?{kept}"
    asked.ask("POST", "/api/v1/session", json={"token": TOKENS["red"]})
    asked.http.cookies.clear()
    assert (newest()["who"], newest()["body"]) == ("red", {"token": "left out"})


def test_one_login_has_half_of_the_streams(asked: Asked) -> None:
    asked.app.state.hub.listeners.add(Listening("blue"))
    asked.app.state.hub.most = 2
    answer = asked.get("/api/v1/events", TOKENS["blue"])
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "1")
    assert "blue has half of service.max_streams" in answer.json()["detail"]
    asked.app.state.hub.listeners.clear()


class Listening:
    """Somebody who listens already."""

    def __init__(self, who: str) -> None:
        self.who = who


def test_a_file_of_tokens_that_cannot_be_read_is_told_of_and_heals(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    file = tmp_path / "tokens"
    file.write_text(LINES)
    file.chmod(0o600)
    tokens, known = Tokens({}, file), digest(TOKENS["ann"])
    assert tokens.known(known, 0) is not None
    file.chmod(0o644)
    assert tokens.known(known, 0) is None
    assert "can be read by others" in caplog.text
    file.chmod(0o600)
    assert tokens.known(known, 0) is not None
    file.write_text(f"broken line\n{LINES}\nbroken line\n")
    assert tokens.known(known, 0) is not None, "one that is mistyped locks nobody else out"
    assert re.findall(r"line (\d+): 2 words", caplog.text) == ["1", "5"]
    assert "broken" not in caplog.text


def test_a_body_that_grows_too_long_is_refused_as_one_that_says_so(asked: Asked) -> None:
    async def pieces() -> AsyncIterator[bytes]:
        yield b'{"matchers": {"alertname": "'
        for _ in range(200):
            yield b"x" * 1000

    place, head = "/api/v1/alerts/silences", {"content-type": "application/json"}
    answer = asked.ask("POST", place, TOKENS["ann"], content=pieces(), headers=head)
    assert (answer.status_code, answer.json()["field"]) == (413, "body")


def test_a_probe_whose_token_is_over_is_no_sign_of_death(asked: Asked) -> None:
    assert asked.get("/healthz", "hs_over").status_code == 200
    assert asked.get("/api/v1/flows", "hs_over").status_code == 401


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("jwt_issuer", "https://id.example", "service.jwt_audience"),
        ("jwt_issuer", "foo", "service.jwt_audience"),
        ("tls_certificate", "cert.pem", "service.tls_key"),
        ("alerts_file", "/nowhere.toml", "service.alerts_file: /nowhere.toml"),
        ("host", "192.0.2.1", "service.host"),
        ("require_login", "true", "service.require_login"),
    ],
)
def test_what_is_checked_is_what_is_served_by(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str, said: str
) -> None:
    monkeypatch.setenv(f"HOPSIGHT_SERVICE__{name.upper()}", value)
    with pytest.raises(Failure, match=said):
        settings.run(check=True, dump=False, json=False)


def test_a_key_with_a_pass_phrase_is_refused_and_nobody_asked_for_it(tmp_path: Path) -> None:
    file = tmp_path / "key.pem"
    file.write_bytes(KEY.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8,
        serialization.BestAvailableEncryption(b"sesame"),
    ))  # fmt: skip
    with pytest.raises(Failure, match=r"service\.tls_key: .*needs a pass phrase"):
        Tls.of(file, file)
