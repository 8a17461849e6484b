"""The references of a command: texts, PDF, Word and HTML files, pages of the web, and standard input."""

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from haluagent.cli.texts import STANDARD_INPUT, read_text
from haluagent.errors import ConfigError

if TYPE_CHECKING:
    from haluagent.search.pages.fetch import Page

PAGES = ("http://", "https://")
LARGEST_PAGE = 20_000_000  # bytes
FETCH_SECONDS, READ_SECONDS = 30.0, 60.0
MEMORY = 2**31  # bytes; a page may attack its reader, so that runs in a process with limits


def read_reference(name: str, private: bool = False) -> str:
    """Return the text of a reference: a file of text, Markdown, HTML, PDF or Word, the address of such a page, or `-` for
    standard input. With `private`, an address may lead into the user's own network.

    What of a file could not be read is said on standard error. Raise `ConfigError` if it is empty or cannot be read, or
    its reader is not installed.
    """
    from haluagent.search.documents.reading import KINDS

    if name.lower().startswith(PAGES):
        return _filled(name, _page(name, private))
    # A text is taken as it stands.
    if name == STANDARD_INPUT or KINDS.get(Path(name).suffix.lower()) not in ("html", "pdf", "docx"):
        return read_text(name)
    return _filled(name, _file(name))


def _filled(name: str, text: str) -> str:
    if not text.strip():
        raise ConfigError(f"{name} has no text")
    return text


def _file(name: str) -> str:
    from haluagent.search.documents.document import LeftOut
    from haluagent.search.documents.encoding import Unreadable
    from haluagent.search.documents.reading import read

    texts = []
    try:
        for part in read(Path(name).expanduser()):
            if isinstance(part, LeftOut):
                typer.echo(f"{name}: {part.part} is left out: {part.problem}", err=True)
            else:
                texts.append(part.text)
    except Unreadable as error:
        raise ConfigError(f"cannot read {name}: {error}") from error
    except OSError as error:
        raise ConfigError(f"cannot read {name}: {error.strerror or error}") from error
    except (ValueError, RuntimeError) as error:  # a NUL in the path, or a home directory that does not exist
        raise ConfigError(f"cannot read {name!r}: {error}") from error
    return "\n\n".join(texts)


def _page(url: str, private: bool) -> str:
    import base64

    from haluagent.errors import ToolError
    from haluagent.sandbox.worker.limited import LimitedWorker
    from haluagent.search.documents.document import require

    page = _fetched(url, private)
    require(*{"application/pdf": ["pypdf"], "text/html": ["bs4"], "application/xhtml+xml": ["bs4"]}.get(page.type, []))
    worker = LimitedWorker("haluagent.search.pages.extract:text_of", seconds=READ_SECONDS, memory=MEMORY)
    try:
        request = {"data": base64.b64encode(page.data).decode(), "type": page.type, "charset": page.charset}
        return str(worker.call(request))
    except ToolError as error:
        raise ConfigError(f"cannot read {url}: {error}") from error
    finally:
        worker.close()


def _fetched(url: str, private: bool) -> "Page":
    import asyncio

    from haluagent.search.pages.fetch import Fetcher, PageError

    fetcher = Fetcher(size=LARGEST_PAGE, seconds=FETCH_SECONDS)
    if private:
        fetcher = Fetcher(size=LARGEST_PAGE, seconds=FETCH_SECONDS, allowed=lambda address: True, ports=None)
    try:
        return asyncio.run(fetcher.get(url))
    except PageError as error:
        own = not private and ("public internet" in str(error) or "port" in str(error))
        how = "; --private-addresses fetches it all the same" if own else ""
        raise ConfigError(f"cannot fetch {url}: {error}{how}") from error
