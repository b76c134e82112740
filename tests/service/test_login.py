"""Who is let in: tokens, web tokens, sessions; scopes by route; and what is kept of writes."""

import asyncio
import json
import re
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import jwt
import pytest
from asked import Asked, opened, strict
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from jwt.algorithms import ECAlgorithm, RSAAlgorithm

from pipeline import Store
from service.access import ROUTES, Scope
from service.app import create_app
from service.login import Login, LoginError, login_of, network_of
from service.service_settings import ServiceSettings
from service.settings import Settings
from service.tokens import Tokens, TokensError, digest, line_of, made
from service.web_token import Provider, WebTokens

TOKENS = {name: made() for name in ("reader", "operator", "admin")}
LINES = "\n".join(
    line_of(name, scope, "*", TOKENS[name])
    for name, scope in (("reader", "read"), ("operator", "operate"), ("admin", "admin"))
)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    with opened(tmp_path_factory.mktemp("login")) as made_store:
        yield made_store


@pytest.fixture
def asked(store: Store) -> Iterator[Asked]:
    with Asked(store, *strict(LINES), address="192.0.2.1") as client:
        yield client


def test_every_route_says_what_it_asks_for(store: Store) -> None:
    app = create_app(Settings(), store)
    listed = {
        f"{method} {getattr(route, 'path', '')}"
        for room in app.router.routes
        for route in getattr(getattr(room, "original_router", None), "routes", [room])
        for method in getattr(route, "methods", None) or ()
        if method != "HEAD"
    } - {"GET /api/v1/openapi.json"}
    assert listed == set(ROUTES)


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.7", "hopsight.example"])  # noqa: S104 - refused
def test_another_address_than_loopback_needs_a_login(host: str, store: Store) -> None:
    settings = Settings.model_validate({"service": {"host": host}})
    with pytest.raises(LoginError, match="can be reached by other machines and nobody could log"):
        create_app(settings, store)
    assert login_of(settings.service, {"HOPSIGHT_TOKENS": LINES}).required
    web = Settings.model_validate({"service": {"host": host, "jwt_issuer": "https://id.example"}})
    with pytest.raises(LoginError, match=r"service\.jwt_audience"):
        login_of(web.service, {})


@pytest.mark.parametrize("name", ["jwt_audience", "jwt_keys"])
def test_half_a_login_by_jwt_is_refused(name: str) -> None:
    settings = Settings.model_validate({"service": {name: "/there"}})
    with pytest.raises(LoginError, match=rf"service\.{name}: is of no use without"):
        login_of(settings.service, {"HOPSIGHT_TOKENS": LINES})


def test_loopback_lets_everybody_in(store: Store) -> None:
    with Asked(store) as client:
        found = client.get("/api/v1/session").json()
        assert found == {
            "login_required": False,
            "identity": {"name": "local", "scope": "admin", "tenants": ["*"], "fabric": True},
        }
        assert client.get("/api/v1/audit").status_code == 200


def test_a_stranger_sees_that_the_service_lives_and_nothing_else(asked: Asked) -> None:
    for line in ROUTES:
        method, path = line.split()
        answer = asked.ask(method, re.sub(r"\{[^}]*\}", "extent", path))
        if ROUTES[line].scope is None:
            assert answer.status_code in {200, 204, 404, 422}, line
        else:
            assert answer.status_code == 401, line
            assert answer.json()["title"] == "A login is asked for"
            assert answer.headers["www-authenticate"].startswith("Bearer")
        asked.app.state.login.sessions = type(asked.app.state.login.sessions)()
    assert asked.get("/readyz").json() == {"status": "ready"}
    assert asked.get("/api/v1/session").json() == {"login_required": True, "identity": None}
    assert asked.get("/api/v1/openapi.json").status_code == 401


def test_a_scope_holds_those_below_it_and_none_above(asked: Asked) -> None:
    assert asked.get("/api/v1/flows", TOKENS["reader"]).status_code == 200
    assert asked.get("/api/v1/audit", TOKENS["admin"]).status_code == 200
    refused = asked.get("/api/v1/audit", TOKENS["operator"])
    assert refused.status_code == 403
    assert refused.json()["detail"] == "this asks for the scope admin; operator has operate"
    assert Scope.READ < Scope.OPERATE < Scope.ADMIN


@pytest.mark.parametrize("token", ["hs_no", "~", "a b", "\xe9", "Bearer", "hs_" + "x" * 9000])
def test_a_wrong_token_is_refused_and_not_repeated(asked: Asked, token: str) -> None:
    answer = asked.get("/api/v1/flows", headers={"Authorization": f"Bearer {token}".encode()})
    assert answer.status_code == 401
    assert token not in answer.json()["detail"]


def test_wrong_tokens_are_slowed_down_and_right_ones_are_not(asked: Asked) -> None:
    codes = [asked.get("/api/v1/flows", "hs_wrong").status_code for _ in range(75)]
    assert codes[0] == 401
    assert codes[-1] == 429
    assert asked.get("/api/v1/flows", TOKENS["reader"]).status_code == 200


def test_requests_of_one_login_are_bounded(store: Store) -> None:
    with Asked(store, *strict(LINES, requests_per_s=0.5)) as client:
        codes = [client.get("/api/v1/session", TOKENS["reader"]).status_code for _ in range(4)]
        assert codes == [200, 200, 429, 429]
        assert client.get("/api/v1/session", TOKENS["admin"]).status_code == 200
        slow = client.get("/api/v1/session", TOKENS["reader"])
        assert int(slow.headers["retry-after"]) >= 1


def test_a_browser_logs_in_and_out(asked: Asked) -> None:
    assert asked.ask("POST", "/api/v1/session", json={"token": "no"}).status_code == 401
    answer = asked.ask("POST", "/api/v1/session", json={"token": TOKENS["reader"]})
    assert answer.json()["identity"]["name"] == "reader"
    cookie = answer.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=strict" in cookie
    assert TOKENS["reader"] not in cookie
    assert asked.get("/api/v1/flows").status_code == 200
    elsewhere = {"Origin": "https://evil.example"}
    assert asked.ask("DELETE", "/api/v1/session", headers=elsewhere).status_code == 403
    assert asked.ask("DELETE", "/api/v1/session").status_code == 204
    assert asked.get("/api/v1/flows").status_code == 401


def test_writes_are_kept_and_secrets_are_not(asked: Asked) -> None:
    asked.ask("POST", "/api/v1/session", json={"token": TOKENS["operator"]})
    asked.http.cookies.clear()
    asked.ask("POST", "/api/v1/flows", TOKENS["reader"], json={"note": "x"})
    found = asked.get("/api/v1/audit", TOKENS["admin"], limit=2).json()["audit"]
    assert [(row["who"], row["method"], row["path"], row["status"]) for row in found] == [
        ("reader", "POST", "/api/v1/flows", 405),
        ("operator", "POST", "/api/v1/session", 200),
    ]
    assert json.loads(found[1]["body"]) == {"token": "left out"}
    assert found[0]["address"] == "192.0.2.1"
    assert abs(found[0]["time_ns"] - time.time_ns()) < 60 * 10**9


def test_what_people_write_is_kept_as_they_wrote_it(asked: Asked) -> None:
    """So that an address in it is found when that is erased."""
    for comment in ("主机10.2.0.1已更换", r"half a letter: \ud83d"):
        body = f'{{"comment": "{comment}"}}'.encode()
        asked.ask("POST", "/api/v1/alerts/silences", TOKENS["operator"], content=body)
    found = asked.get("/api/v1/audit", TOKENS["admin"], limit=2).json()["audit"]
    assert [row["body"] for row in found] == [
        '{"comment": "half a letter: ?"}', '{"comment": "主机10.2.0.1已更换"}',
    ]  # fmt: skip


def test_no_other_origin_may_read_or_write(asked: Asked) -> None:
    for headers in ({"Origin": "null"}, {"Sec-Fetch-Site": "cross-site"}):
        answer = asked.ask("POST", "/api/v1/session", TOKENS["admin"], headers=headers, json={})
        assert answer.status_code == 403
        assert answer.json()["field"] == "Origin"
    seen = asked.ask("GET", "/api/v1/flows", TOKENS["admin"], headers={"Origin": "https://a.b"})
    assert not [name for name in seen.headers if name.startswith("access-control")]


def test_a_file_of_tokens_is_its_owners_and_read_again(tmp_path: Path) -> None:
    file = tmp_path / "tokens"
    file.write_text(f"# who may ask\n{LINES}\n")
    file.chmod(0o644)
    with pytest.raises(TokensError, match="can be read by others"):
        Tokens({}, file)
    file.chmod(0o600)
    tokens, known = Tokens({}, file), digest(TOKENS["reader"])
    found = tokens.known(known, 0)
    assert found is not None
    assert found.name == "reader"
    for broken in ("", "rubbish\n"):
        file.write_text(broken)
        assert tokens.known(known, 0) is None
        assert tokens, "who has none is asked for one, and the file may be mended"
        file.write_text(f"{LINES}\n")
        assert tokens.known(known, 0) == found
    file.unlink()
    with pytest.raises(TokensError, match="No such file"):
        Tokens({}, file)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("a read", "2 words"),
        ("a root * sha256:" + "0" * 64, "the scope is none of read, operate, admin"),
        ("a read *,b sha256:" + "0" * 64, "the tenants should be"),
        ("a read * sha256:" + "0" * 63, "64 hexadecimal"),
        ("a read * sha256:" + "0" * 64 + " soon", "the expiry is no time"),
        ("<b> read * sha256:" + "0" * 64, "the name has other signs"),
        ("local admin * sha256:" + "0" * 64, "what hopsight calls who asks from this machine"),
    ],
)
def test_a_wrong_line_is_named_and_not_repeated(line: str, said: str) -> None:
    with pytest.raises(TokensError, match=said) as caught:
        Tokens({"HOPSIGHT_TOKENS": f"# first\n{line}"}, None)
    assert "line 2" in str(caught.value)
    assert "0000" not in str(caught.value)


def test_a_token_ends() -> None:
    token = made()
    tokens = Tokens(
        {"HOPSIGHT_TOKENS": line_of("a", "read", "*", token, "2026-01-01T00:00:00Z")}, None
    )
    assert tokens.known(digest(token), 1_700_000_000 * 10**9) is not None
    assert tokens.known(digest(token), 1_800_000_000 * 10**9) is None


KEY = rsa.generate_private_key(public_exponent=65537, key_size=2048)


def web_token(**claims: Any) -> str:
    told = {"iss": "https://id.example", "aud": "hopsight", "sub": "ann", "scope": "hopsight:read",
            "tenants": ["blue"], "exp": int(time.time()) + 60}  # fmt: skip
    return jwt.encode(told | claims, KEY, "RS256", {"kid": "k1"})


@pytest.fixture
def web(store: Store, tmp_path: Path) -> Iterator[Asked]:
    own = RSAAlgorithm.to_jwk(KEY.public_key(), as_dict=True) | {"kid": "k1", "alg": "RS256"}
    keys = tmp_path / "keys.json"
    keys.write_text(json.dumps({"keys": [own]}))
    settings, _ = strict(LINES)
    provider = Provider("https://id.example", "hopsight", str(keys))
    login = Login(Tokens({}, None), WebTokens(provider), required=True)
    with Asked(store, settings, login) as client:
        yield client


def test_a_web_token_of_the_provider_is_a_login(web: Asked) -> None:
    found = web.get("/api/v1/session", web_token()).json()["identity"]
    assert found == {"name": "ann", "scope": "read", "tenants": ["blue"], "fabric": False}
    wide = web_token(scope=["admin", "read"], tenants="*")
    assert web.get("/api/v1/audit", wide).status_code == 200
    none = web.get("/api/v1/session", web_token(tenants=None)).json()["identity"]
    assert none["tenants"] == []


@pytest.mark.parametrize(
    "token",
    [
        web_token(exp=int(time.time()) - 3600),
        web_token(aud="other"),
        web_token(iss="https://evil.example"),
        web_token(sub=None),
        web_token(sub="\ud800x"),
        web_token(tenants=["\ud800"]),
        jwt.encode({"sub": "ann"}, "", "none"),
        jwt.encode({"sub": "a", "iss": "https://id.example"}, "s" * 40, "HS256", {"kid": "k1"}),
        jwt.encode({"sub": "a"}, rsa.generate_private_key(65537, 2048), "RS256", {"kid": "k1"}),
        jwt.encode({"sub": "a"}, KEY, "RS256", {"kid": "unknown"}),
        "a.b.c",
        "x",
    ],
)
def test_other_web_tokens_are_refused(web: Asked, token: str) -> None:
    answer = web.get("/api/v1/flows", token)
    assert answer.status_code == 401
    assert token not in answer.text


def test_a_web_token_without_a_scope_may_nothing(web: Asked) -> None:
    assert web.get("/api/v1/flows", web_token(scope="email profile")).status_code == 403


def test_a_file_of_keys_is_read_at_the_start(tmp_path: Path) -> None:
    keys = tmp_path / "keys.json"
    told = {"jwt_issuer": "https://id.example", "jwt_audience": "x", "jwt_keys": str(keys)}
    settings = ServiceSettings(require_login=True, **told)
    with pytest.raises(LoginError, match=r"service.jwt_keys: .* No such file"):
        login_of(settings, {})
    keys.write_text('{"keys": "x"}')
    with pytest.raises(LoginError, match=r"service.jwt_keys: .* is no JSON key set"):
        login_of(settings, {})
    keys.write_text(json.dumps({"keys": [RSAAlgorithm.to_jwk(KEY.public_key(), as_dict=True)]}))
    assert login_of(settings, {}).possible


def test_keys_that_are_not_to_be_had_are_said_to_be(store: Store) -> None:
    settings, _ = strict(LINES)
    provider = Provider("https://id.example", "hopsight", "/nowhere/keys.json")
    login = Login(Tokens({}, None), WebTokens(provider), required=True)
    with Asked(store, settings, login) as client:
        answer = client.get("/api/v1/flows", web_token())
    assert answer.status_code == 503
    assert answer.headers["retry-after"]


def test_nobody_guesses_while_the_keys_are_not_to_be_had(store: Store, tmp_path: Path) -> None:
    """A token that may be good is not called a wrong one, whoever asks how often."""
    settings, _ = strict(LINES)
    keys = tmp_path / "keys.json"
    provider = Provider("https://id.example", "hopsight", str(keys))
    login = Login(Tokens({}, None), WebTokens(provider), required=True)
    with Asked(store, settings, login) as client:
        assert {client.get("/api/v1/flows", web_token()).status_code for _ in range(80)} == {503}
        own = RSAAlgorithm.to_jwk(KEY.public_key(), as_dict=True) | {"kid": "k1"}
        keys.write_text(json.dumps({"keys": [own]}))
        assert client.get("/api/v1/flows", web_token()).status_code == 200


def test_a_changed_file_of_keys_holds_at_once(store: Store, tmp_path: Path) -> None:
    settings, _ = strict(LINES)
    signing = {"P-521": (ec.generate_private_key(ec.SECP521R1()), "ES512"), "RSA": (KEY, "RS256")}
    keys = tmp_path / "keys.json"
    provider = Provider("https://id.example", "hopsight", str(keys))
    login = Login(Tokens({}, None), WebTokens(provider), required=True)
    claims = {"iss": "https://id.example", "aud": "hopsight", "sub": "ann", "scope": "read",
              "exp": int(time.time()) + 60}  # fmt: skip
    tokens = {name: jwt.encode(claims, key, by, {"kid": name})
              for name, (key, by) in signing.items()}  # fmt: skip
    with Asked(store, settings, login) as client:
        for named in (False, True):
            for name, (key, by) in signing.items():
                made = (ECAlgorithm if name == "P-521" else RSAAlgorithm).to_jwk(
                    key.public_key(), as_dict=True
                )
                told = made | {"kid": name} | ({"alg": by} if named else {})
                keys.write_text(json.dumps({"keys": [told]}))
                for other, token in tokens.items():
                    answer = client.get("/api/v1/flows", token)
                    assert answer.status_code == (200 if other == name else 401), answer.text


def test_what_is_no_guess_is_not_slowed_down(web: Asked) -> None:
    without = web_token(scope="email")
    assert {web.get("/api/v1/flows", without).status_code for _ in range(80)} == {403}
    told = [web.get("/api/v1/flows", f"hs_{number}") for number in range(80)]
    assert {each.status_code for each in told} == {401, 429}
    assert told[-1].json()["detail"] == "too many tokens that are not known"


@contextmanager
def provider_that_sends(*parts: bytes, pause_s: float) -> Iterator[str]:
    """The URL of key sets that come piece by piece, as long as somebody hears them."""

    class Answer(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()
            with suppress(OSError):
                for part in parts:
                    self.wfile.write(part)
                    self.wfile.flush()
                    time.sleep(pause_s)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Answer)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/keys"
    finally:
        server.shutdown()
        server.server_close()


@pytest.mark.parametrize(
    ("before", "pause_s", "status"),
    [([b" "] * 100, 0.1, 503), ([b" " * (1 << 20)], 0.0, 503), ([b" "], 0.0, 200)],
    ids=["slow", "large", "well"],
)
def test_a_provider_is_not_waited_for_however_it_answers(
    store: Store, monkeypatch: pytest.MonkeyPatch, before: list[bytes], pause_s: float, status: int
) -> None:
    monkeypatch.setattr("service.web_token.FETCH_S", 2.0)
    settings, _ = strict(LINES)
    own = RSAAlgorithm.to_jwk(KEY.public_key(), as_dict=True) | {"kid": "k1", "alg": "RS256"}
    told = json.dumps({"keys": [own]}).encode()
    with provider_that_sends(*before, told, pause_s=pause_s) as url:
        provider = Provider("https://id.example", "hopsight", url)
        login = Login(Tokens({}, None), WebTokens(provider), required=True)
        with Asked(store, settings, login) as client:
            began_s = time.monotonic()
            answer = client.get("/api/v1/flows", web_token())
            assert answer.status_code == status
            assert time.monotonic() - began_s < 6


def test_strangers_cannot_fill_the_audit_log(asked: Asked) -> None:
    before = asked.get("/api/v1/audit", TOKENS["admin"], limit=10_000).json()["audit"]
    login, kept = asked.app.state.login, []
    for number in range(140):
        # Each from an address of its own, as a botnet or a /64 has them.
        login.failed = type(login.failed)(0.5, 60.0)
        kept.append(asked.ask("POST", "/api/v1/session", json={"token": f"hs_{number}"}))
    assert {each.status_code for each in kept} == {401}
    after = asked.get("/api/v1/audit", TOKENS["admin"], limit=10_000).json()["audit"]
    assert len(after) - len(before) <= 110
    asked.ask("POST", "/api/v1/flows", TOKENS["reader"], json={"note": "x"})
    newest = asked.get("/api/v1/audit", TOKENS["admin"], limit=1).json()["audit"][0]
    assert json.loads(newest["body"])["strangers_left_out"] >= 30


def test_tokens_that_are_brought_in_vain_are_slowed_down(asked: Asked) -> None:
    codes = [asked.ask("POST", "/api/v1/session", json={"token": "no"}).status_code
             for _ in range(70)]  # fmt: skip
    assert (codes[0], codes[-1]) == (401, 429)
    assert network_of("2001:db8::1") == network_of("2001:db8::2:0:0:7") == "2001:db8::/64"
    assert network_of("10.0.0.1") != network_of("10.0.0.2")


def test_a_stream_ends_with_its_login(asked: Asked, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("service.hub.ASKED_S", 0.01)
    login = asked.app.state.login
    login.failed = type(login.failed)(0.5, 60.0)
    asked.ask("POST", "/api/v1/session", json={"token": TOKENS["reader"]})
    cookie = asked.http.cookies["hopsight_session"]

    async def heard() -> str:
        async def leave() -> None:
            await asyncio.sleep(0.3)
            assert asked.app.state.hub.listeners
            login.sessions.end(cookie)

        async with asyncio.TaskGroup() as group:
            group.create_task(leave())
            answer = await group.create_task(asked.http.get("/api/v1/events"))
        return answer.text

    assert asked.runner.run(asyncio.wait_for(heard(), 30)).startswith("retry: 3000")
    asked.http.cookies.clear()
    assert not asked.app.state.hub.listeners
