"""The settings of the server: who may ask, how much, and for how long."""

from pydantic import Field

from haluagent.types import Record


class ServerSettings(Record):
    """The settings of a server.

    It listens on `host` and `port`. A request must bear `token` (None: nothing). `origins` are other sites whose pages may ask
    from a browser, `hosts` further names that this server is called by.

    `running` requests are worked on at a time and `waiting` more wait; others are turned away. `body` is in bytes, `text` in
    characters of all texts of a request together, `deadline` in seconds of work on one request, `grace` in seconds that work
    under way has when the server is told to stop. `log_texts` lets the texts of requests into the log.
    """

    host: str = "127.0.0.1"
    port: int = Field(default=8642, ge=0, le=65535)
    token: str | None = Field(default=None, min_length=16)
    origins: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()
    running: int = Field(default=4, ge=1)
    waiting: int = Field(default=256, ge=0)
    body: int = Field(default=2_000_000, ge=1)
    text: int = Field(default=400_000, ge=1)
    deadline: float = Field(default=300.0, gt=0)
    grace: float = Field(default=20.0, ge=0)
    log_texts: bool = False
