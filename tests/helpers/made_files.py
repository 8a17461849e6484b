"""Word and PDF files and web pages made for a test."""

import io
import threading
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

WORD = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument"
STRICT = {
    WORD: "http://purl.oclc.org/ooxml/wordprocessingml/main",
    OFFICE: "http://purl.oclc.org/ooxml/officeDocument/relationships/officeDocument",
}


def part(body: str, root: str = "document") -> str:
    """A part of a Word file."""
    return f'<?xml version="1.0" encoding="UTF-8"?><w:{root} xmlns:w="{WORD}">{body}</w:{root}>'


def docx(body: str, strict: bool = False, main: str = "word/document.xml", **parts: str | bytes) -> bytes:
    """A Word file with this body; `parts` are others, `/` written as `__` and `.xml` left out."""
    relations = f'<Relationships xmlns="r"><Relationship Id="1" Type="{OFFICE}" Target="/{main}"/></Relationships>'
    texts: dict[str, str | bytes] = {"_rels/.rels": relations, main: part(f"<w:body>{body}</w:body>")}
    texts |= {f"{name.replace('__', '/')}.xml": text for name, text in parts.items()}
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in texts.items():
            for old, new in STRICT.items() if strict and isinstance(text, str) else ():
                text = text.replace(old, new)
            archive.writestr(name, text)
    return file.getvalue()


def pdf(stream: bytes) -> bytes:
    """A PDF file of one page with this content."""
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 5 0 R /Resources << /Font << /F1 4 0 R >> >> >>",
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
        b"<< /Length %d >>\nstream\n%s\nendstream" % (len(stream), stream),
    ]
    document = b"%PDF-1.4\n"
    places = []
    for number, item in enumerate(objects, 1):
        places.append(len(document))
        document += b"%d 0 obj\n%s\nendobj\n" % (number, item)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    size = len(objects) + 1
    trailer = b"trailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF" % (size, len(document))
    return document + b"xref\n0 %d\n0000000000 65535 f \n%s%s" % (size, table, trailer)


@contextmanager
def pages(served: Mapping[str, tuple[str, bytes]]) -> Iterator[str]:
    """A server on loopback of these pages, by path: their type and their bytes. Yields its address."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            kind, data = served.get(self.path, ("text/plain", b""))
            self.send_response(200 if self.path in served else 404)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *arguments: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()
