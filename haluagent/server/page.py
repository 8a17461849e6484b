"""The page: a form for the texts, and the detection as it happens. Its files are those in `page/`."""

import hashlib
import json
from dataclasses import dataclass
from importlib.resources import files

from fastapi import FastAPI, HTTPException, Request, Response

from haluagent.report.words import CLAIMS, LABELS, MARKS, STOPS, WORDS

_TYPES = {".html": "text/html", ".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
# Nothing but the page's own files runs or is asked for, and no text can become markup or script by mistake.
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
)


@dataclass(frozen=True)
class _File:
    data: bytes
    media_type: str
    tag: str


def add_to(app: FastAPI) -> None:
    """Serve the page at `/`, and what it is made of at `/page/NAME`."""
    known = _files()

    @app.get("/", include_in_schema=False)
    async def index(request: Request) -> Response:
        return _answer(known["index.html"], request)

    @app.get("/page/{name}", include_in_schema=False)
    async def part(request: Request, name: str) -> Response:
        file = known.get(name)
        if file is None:
            raise HTTPException(404)
        return _answer(file, request)


def _files() -> dict[str, _File]:
    """Read everything in `page/`, and add the words of the printed report, so that the page says the same."""
    found = {}
    for item in files(__package__).joinpath("page").iterdir():
        media_type = _TYPES.get(item.name[item.name.rfind(".") :])
        if media_type is not None:
            found[item.name] = _file(item.read_bytes(), media_type)
    words = {"CLAIMS": CLAIMS, "LABELS": LABELS, "MARKS": MARKS, "STOPS": STOPS, "WORDS": WORDS}
    module = "".join(
        f"export const {name} = {json.dumps(table, ensure_ascii=False)};\n" for name, table in words.items()
    )
    found["report_words.js"] = _file(module.encode(), _TYPES[".js"])
    return found


def _file(data: bytes, media_type: str) -> _File:
    return _File(data, f"{media_type}; charset=utf-8", f'"{hashlib.sha256(data).hexdigest()[:16]}"')


def _answer(file: _File, request: Request) -> Response:
    headers = {"ETag": file.tag, "Cache-Control": "no-cache", "Content-Security-Policy": _POLICY}
    if request.headers.get("if-none-match") == file.tag:
        return Response(status_code=304, headers=headers)
    return Response(file.data, headers=headers, media_type=file.media_type)
