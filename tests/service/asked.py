"""The application in this process, asked without a socket, for tests of what answers hold."""

import asyncio
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import httpx
from empty_store import empty_store

from pipeline import Store, StoreLimits
from service.app import create_app
from service.login import Login, login_of
from service.settings import Settings


class Asked:
    """One application around one store; `address` is where requests seem to come from."""

    def __init__(
        self,
        store: Store,
        settings: Settings | None = None,
        login: Login | None = None,
        address: str = "127.0.0.1",
    ) -> None:
        self.settings = settings or Settings()
        self.app = create_app(self.settings, store, None, login)
        self.runner = asyncio.Runner()
        transport = httpx.ASGITransport(self.app, client=(address, 1))
        self.http = httpx.AsyncClient(transport=transport, base_url="http://localhost")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.runner.run(self.http.aclose())
        self.runner.close()

    def ask(self, method: str, path: str, token: str | None = None, **given: Any) -> httpx.Response:
        """One answer."""
        own = {"Authorization": f"Bearer {token}"} if token else {}
        headers = own | dict(given.pop("headers", {}))
        return self.runner.run(self.http.request(method, path, headers=headers, **given))

    def get(
        self,
        path: str,
        token: str | None = None,
        headers: Mapping[str, str | bytes] | None = None,
        **parameters: Any,
    ) -> httpx.Response:
        """The answer to a GET."""
        return self.ask("GET", path, token, headers=headers or {}, params=parameters or None)


def strict(tokens: str = "", **given: Any) -> tuple[Settings, Login]:
    """Settings and login of a service that asks everybody who they are."""
    settings = Settings.model_validate({"service": {"require_login": True, **given}})
    return settings, login_of(settings.service, {"HOPSIGHT_TOKENS": tokens})


def opened(folder: Path) -> Store:
    """A new store, which has time: beside other tests a question may wait for over a second."""
    return empty_store(folder / "store", StoreLimits(wait_s=30))
