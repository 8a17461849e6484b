"""Make the services that tools use: a sandbox, a search, a translator, from what the user names."""

import asyncio
from typing import Literal

from haluagent.errors import NoSandbox
from haluagent.protocols import Closable, Execution, Sandbox, SearchProvider, Services, Translator
from haluagent.sandbox.choose import advice
from haluagent.sandbox.choose import resolve as resolve_sandbox
from haluagent.search import resolve as resolve_search
from haluagent.search.citations import resolve_bibliography, resolve_visitor
from haluagent.search.providers.google_translate import resolve_translator

SandboxName = Literal["auto", "docker", "bubblewrap", "none"]


def make_services(
    sandbox: Sandbox | SandboxName | None = "auto",
    search: SearchProvider | str | None = "auto",
    translator: Translator | None = None,
) -> Services:
    """Return the services of these names; None or "none" for none. Without a search, citations are not looked up either. Raises
    ConfigError for one that is not set up."""
    offline = search in (None, "none")
    if sandbox == "auto":
        sandbox = FirstSandbox()
    return Services(
        sandbox=resolve_sandbox(sandbox) if isinstance(sandbox, str) else sandbox,
        search=resolve_search(search) if isinstance(search, str) else search,
        translator=translator or resolve_translator(),
        bibliography=None if offline else resolve_bibliography(),
        visitor=None if offline else resolve_visitor(),
    )


class FirstSandbox:
    """The first sandbox that works here, looked for when there is code to run: most responses have none."""

    name = "auto"

    def __init__(self) -> None:
        self._found: Sandbox | None = None

    async def run(self, code: str, *, seconds: float = 10.0) -> Execution:
        """See `Sandbox.run`. Raises NoSandbox where none works."""
        if self._found is None:
            self._found = await asyncio.to_thread(resolve_sandbox, "auto")
        if self._found is None:
            raise NoSandbox(advice("en"))
        return await self._found.run(code, seconds=seconds)

    async def aclose(self) -> None:
        if isinstance(self._found, Closable):
            await self._found.aclose()
