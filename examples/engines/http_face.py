"""An OpenAI-compatible face for an engine that has none of its own: chat completions on loopback, no streaming."""

import json
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Complete = Callable[[dict[str, Any]], dict[str, Any]]


def serve(complete: Complete, port: int) -> None:
    """Answer every POST with what `complete` makes of its JSON body, each in a thread of its own, until interrupted.

    What `complete` raises becomes a 400 with the error's text, so that nothing is tried again."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            try:
                status, answer = 200, complete(body)
            except Exception as error:  # whatever an engine raises is its answer
                status, answer = 400, {"error": {"message": f"{type(error).__name__}: {error}"}}
            data = json.dumps(answer, ensure_ascii=False).encode()
            self.send_response(status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, format: str, *args: Any) -> None:
            pass

    print(f"http://127.0.0.1:{port}/v1", flush=True)
    ThreadingHTTPServer(("127.0.0.1", port), Handler).serve_forever()
