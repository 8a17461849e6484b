"""A local proxy between a program and an OpenAI-compatible endpoint that adds up the cost of the calls."""

import json
import secrets
import threading
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import IO, Any, Self

import httpx

from haluagent.models.endpoint import headers, is_local, normalize
from haluagent.models.tokenizer import ApproximateTokenizer
from haluagent.text.failures import describe
from haluagent.types import Usage

_PASSED_BACK = ("content-type", "retry-after", "retry-after-ms")


class MeterProxy:
    """Forwards `/v1/*` to the endpoint at `base_url` with its `api_key`, and meters every POST.

    It listens at `url` (including `/v1`) on the loopback interface only and accepts only its own `api_key`, so that no
    other program on this machine can use the endpoint through it. `timeout` is in seconds per request. `count_tokens`
    counts the tokens when a request asks for several samples, of which llama.cpp reports only one. `record` is a file
    to which each request is appended as a line `{"at": seconds since the start, "path", "body"}`. Requests for
    streaming are refused with a 400, since not all servers report their cost.
    """

    def __init__(
        self,
        base_url: str,
        api_key: str | None = None,
        *,
        record: Path | None = None,
        count_tokens: Callable[[str], int] | None = None,
        timeout: float = 600.0,
    ) -> None:
        self._upstream = normalize(base_url)
        self._client = httpx.Client(
            headers=headers(api_key), timeout=httpx.Timeout(timeout, connect=10.0), trust_env=not is_local(base_url)
        )
        self._count = count_tokens
        self._changed = threading.Condition()
        self._usage, self._failures, self._running = Usage(), 0, 0
        self._record = record
        self._file: IO[str] | None = None
        self._began = time.monotonic()
        self.api_key = secrets.token_urlsafe(16)
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), name="meter", daemon=True)

    def __enter__(self) -> Self:
        if self._record is not None:
            self._file = self._record.open("a", encoding="utf-8")
        self._began = time.monotonic()
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
        self._client.close()
        if self._file is not None:
            self._file.close()

    @property
    def url(self) -> str:
        """Return the base URL of the proxy, including `/v1`."""
        return f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    @property
    def usage(self) -> Usage:
        """Return the cost of all calls so far. A failed call counts as a call with its seconds, but without tokens."""
        with self._changed:
            return self._usage

    @property
    def failures(self) -> int:
        """Return the number of calls that got no answer or one with an error status."""
        with self._changed:
            return self._failures

    def wait_idle(self, timeout: float) -> bool:
        """Wait until no call is in progress, for at most `timeout` seconds. Return True if none is."""
        with self._changed:
            return self._changed.wait_for(lambda: self._running == 0, timeout)

    def forward(self, method: str, path: str, body: bytes) -> tuple[int, dict[str, str], bytes]:
        """Send a request to the endpoint and return its status, headers and body; a 502 if it does not answer."""
        try:
            sent = {"Content-Type": "application/json"} if body else {}
            answer = self._client.request(method, self._upstream + path, content=body, headers=sent)
        except (httpx.HTTPError, RuntimeError) as error:  # RuntimeError: the proxy was closed meanwhile
            return _refusal(502, f"the endpoint gave no answer ({describe(error)})")
        kept = {name: value for name in _PASSED_BACK if (value := answer.headers.get(name))}
        return answer.status_code, kept, answer.content

    def call(self, path: str, body: bytes) -> tuple[int, dict[str, str], bytes]:
        """Forward a POST and meter it. `path` is the part after `/v1`."""
        try:
            request = json.loads(body)
        except ValueError:
            request = None
        if not isinstance(request, dict):
            return _refusal(400, "the body of a request must be a JSON object")
        if request.get("stream"):
            return _refusal(400, "streamed answers are not metered: send the request without `stream`")
        began = time.monotonic()
        with self._changed:
            self._running += 1
            if self._file is not None:
                line = {"at": round(began - self._began, 3), "path": f"/v1{path}", "body": request}
                self._file.write(json.dumps(line, ensure_ascii=False) + "\n")
                self._file.flush()
        status, kept, content = _refusal(500, "the request failed in the proxy")
        try:
            status, kept, content = self.forward("POST", path, body)
        finally:
            self._add(status, content, time.monotonic() - began)
        return status, kept, content

    def _add(self, status: int, content: bytes, seconds: float) -> None:
        failed = not 200 <= status < 300
        usage = Usage() if failed else cost(content, self._count)
        with self._changed:
            self._usage += usage + Usage(calls=1, seconds=seconds)
            self._failures += failed
            self._running -= 1
            self._changed.notify_all()


def cost(content: bytes, count_tokens: Callable[[str], int] | None = None) -> Usage:
    """Return the usage that an API answer reports; zero if it reports none."""
    try:
        answer = json.loads(content)
    except ValueError:
        return Usage()
    if not isinstance(answer, dict):
        return Usage()
    reported = _dict(answer.get("usage"))
    cached = _dict(reported.get("prompt_tokens_details")).get("cached_tokens")
    if cached is None:
        cached = _dict(answer.get("timings")).get("cache_n")
    generated = reported.get("completion_tokens") or 0
    choices = [_dict(choice) for choice in answer.get("choices") or ()]
    if len(choices) > 1 and "timings" in answer:
        # llama.cpp reports the tokens of one sample only (measured), so all of them are counted here.
        count = count_tokens or _estimate
        generated = max(generated, sum(count(_text(choice)) for choice in choices))
    prompt = reported.get("prompt_tokens") or 0
    return Usage(prompt_tokens=prompt, cached_tokens=cached or 0, generated_tokens=generated)


def _dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _text(choice: dict[str, Any]) -> str:
    return _dict(choice.get("message")).get("content") or choice.get("text") or ""


def _estimate(text: str) -> int:
    return ApproximateTokenizer().count(text)


def _refusal(status: int, message: str) -> tuple[int, dict[str, str], bytes]:
    body = json.dumps({"error": {"message": message, "type": "meter", "code": status}}).encode()
    return status, {"content-type": "application/json"}, body


def _handler(proxy: MeterProxy) -> type[BaseHTTPRequestHandler]:
    """Return a request handler class for one proxy, as the standard library's server requires."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            self._answer("GET")

        def do_POST(self) -> None:
            self._answer("POST")

        def _answer(self, method: str) -> None:
            if "Content-Length" not in self.headers and "Transfer-Encoding" in self.headers:
                self.close_connection = True  # the body stays unread
                return self._send(*_refusal(411, "send the request with a Content-Length"))
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            expected = f"Bearer {proxy.api_key}".encode()
            if not secrets.compare_digest(self.headers.get("Authorization", "").encode(), expected):
                return self._send(*_refusal(401, "this proxy answers to its own API key only"))
            if not self.path.startswith("/v1/") or ".." in self.path:
                return self._send(*_refusal(404, "only /v1/* is forwarded"))
            path = self.path.removeprefix("/v1")
            self._send(*(proxy.call(path, body) if method == "POST" else proxy.forward(method, path, body)))

        def _send(self, status: int, kept: dict[str, str], content: bytes) -> None:
            try:
                self.send_response(status)
                for name, value in kept.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)
            except OSError:  # the caller did not wait for the answer; it has been metered anyway
                self.close_connection = True

        def log_message(self, *args: object) -> None:
            """Write nothing: a line per call would bury the benchmark's own output."""

    return Handler
