"""Access to the server: the names it is called by, the sites whose pages may call it, and the token."""

import hmac
import ipaddress

from starlette.requests import HTTPConnection
from starlette.types import ASGIApp, Receive, Scope, Send

from haluagent.server.problems import HttpProblem
from haluagent.server.settings import ServerSettings

_OPEN = ("/", "/health", "/healthz", "/readyz", "/openapi.json")  # and the files of the page


class AccessCheck:
    """Answer a request with its problem, where it has one, and pass on any other.

    It is a middleware and not a dependency of the endpoints, because it also guards paths at which there is nothing.
    """

    def __init__(self, app: ASGIApp, settings: ServerSettings) -> None:
        self._app, self._settings = app, settings

    def problem(self, request: HTTPConnection) -> HttpProblem | None:
        """Return why a request is refused, or None."""
        raise NotImplementedError

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        problem = self.problem(HTTPConnection(scope)) if scope["type"] == "http" else None
        await (self._app if problem is None else problem.response())(scope, receive, send)


class SiteCheck(AccessCheck):
    """Refuse what a browser was led to ask: under a name that is not the server's, or from another site's page.

    Without a token only loopback names are the server's, and those in the settings. Any other name may be made to lead here
    (DNS rebinding), and then the browser would not take a foreign page for one.
    """

    def problem(self, request: HTTPConnection) -> HttpProblem | None:
        host = request.headers.get("host", "").lower()
        name = name_of(host)
        hosts = {allowed.lower() for allowed in self._settings.hosts}
        if self._settings.token is None and not is_loopback(name) and not hosts & {name, host}:
            return HttpProblem("forbidden", "the server is not known by this name: it can be allowed with --allow-host")
        origin = request.headers.get("origin", "").lower()
        origins = {allowed.lower() for allowed in self._settings.origins}
        if origin and origin not in origins and origin.partition("://")[2] != host:
            return HttpProblem(
                "forbidden", "a page of another site may not ask here: it can be allowed with --allow-origin"
            )
        return None


class TokenCheck(AccessCheck):
    """Require the bearer token, except at the few paths that are open."""

    def problem(self, request: HTTPConnection) -> HttpProblem | None:
        token, path = self._settings.token, request.scope["path"]
        if token is None or path in _OPEN or path.startswith("/page/"):
            return None
        scheme, _, given = request.headers.get("authorization", "").partition(" ")
        if scheme.lower() == "bearer" and hmac.compare_digest(given.strip().encode(), token.encode()):
            return None
        return HttpProblem(
            "unauthorized", "give the token: Authorization: Bearer TOKEN", {"WWW-Authenticate": "Bearer"}
        )


def name_of(host: str) -> str:
    """Return the name in a Host header: without its port, and without the brackets of an IPv6 address."""
    return host[1:].partition("]")[0] if host.startswith("[") else host.partition(":")[0]


def is_loopback(name: str) -> bool:
    """Check whether a name is this machine's own, and no other's."""
    try:
        return name == "localhost" or ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False
