"""Who may ask: the names the server is called by, the sites whose pages may ask, and the token."""

import hmac
import ipaddress

from starlette.types import ASGIApp, Receive, Scope, Send

from haluagent.server.problems import Problem
from haluagent.server.settings import ServerSettings

_OPEN = ("/", "/healthz", "/readyz", "/openapi.json")  # and the files of the page


class Site:
    """Refuses what a browser was led to ask: under a name that is not the server's, or from another site's page.

    Without a token only loopback names are the server's, and those in the settings: any name may be made to lead here (DNS
    rebinding), and then a foreign page would be no foreign one to the browser.
    """

    def __init__(self, app: ASGIApp, settings: ServerSettings) -> None:
        self._app, self._settings = app, settings
        self._hosts = {host.lower() for host in settings.hosts}
        self._origins = {origin.lower() for origin in settings.origins}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and (problem := self._problem(_headers(scope))) is not None:
            return await problem.respond(send)
        await self._app(scope, receive, send)

    def _problem(self, headers: dict[str, str]) -> Problem | None:
        host = headers.get("host", "").lower()
        name = name_of(host)
        if (
            self._settings.token is None
            and not is_loopback(name)
            and name not in self._hosts
            and host not in self._hosts
        ):
            return Problem("forbidden", "the server is not known by this name: it can be allowed with --allow-host")
        origin = headers.get("origin", "").lower()
        if origin and origin not in self._origins and origin.partition("://")[2] != host:
            return Problem(
                "forbidden", "a page of another site may not ask here: it can be allowed with --allow-origin"
            )
        return None


class Token:
    """Asks for the bearer token, everywhere but at the few paths that are open."""

    def __init__(self, app: ASGIApp, settings: ServerSettings) -> None:
        self._app = app
        self._token = None if settings.token is None else settings.token.encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and self._token is not None and _guarded(scope["path"]):
            scheme, _, given = _headers(scope).get("authorization", "").partition(" ")
            if scheme.lower() != "bearer" or not hmac.compare_digest(given.strip().encode(), self._token):
                problem = Problem(
                    "unauthorized", "give the token: Authorization: Bearer TOKEN", {"WWW-Authenticate": "Bearer"}
                )
                return await problem.respond(send)
        await self._app(scope, receive, send)


def _guarded(path: str) -> bool:
    return path not in _OPEN and not path.startswith("/page/")


def name_of(host: str) -> str:
    """The name in a Host header: without its port, and without the brackets of an IPv6 address."""
    return host[1:].partition("]")[0] if host.startswith("[") else host.partition(":")[0]


def is_loopback(name: str) -> bool:
    """Whether a name is this machine's own, and no other's."""
    try:
        return name == "localhost" or ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False


def _headers(scope: Scope) -> dict[str, str]:
    return {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]}
