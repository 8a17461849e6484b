"""The settings of the proxy: what counts as reference, and which answers go out."""

from pathlib import Path
from typing import Literal, get_args

from pydantic import Field, field_validator, model_validator

from haluagent.errors import ConfigError
from haluagent.models.endpoint import normalize
from haluagent.server.proxy.records import AnswerVerdict, Finding
from haluagent.server.settings import ServerSettings
from haluagent.settings import Key
from haluagent.types import Record

Policy = Literal["annotate", "block", "revise"]
Source = Literal["tool", "system", "block"]
SOURCES: tuple[Source, ...] = get_args(Source)


class Rules(Record):
    """Which answers go out.

    `annotate` lets every answer out with its verdict beside it. `block` puts a refusal in the place of a contradicted
    answer; `revise` asks the upstream once more, and `after_revision` then blocks or annotates. `on_unverified` is for
    answers that were checked and left open, `on_error` for those whose check failed: `open` lets them out. Raises
    ConfigError for choices that contradict each other.
    """

    policy: Policy = "annotate"
    on_unverified: Literal["pass", "block"] = "pass"
    on_error: Literal["open", "closed"] | None = None
    after_revision: Literal["block", "annotate"] = "block"

    @model_validator(mode="after")
    def _agree(self) -> "Rules":
        if self.policy == "annotate" and (self.on_unverified == "block" or self.on_error == "closed"):
            raise ConfigError("--policy annotate holds nothing back: give --policy block or revise")
        if self.policy != "annotate" and self.on_error is None:
            raise ConfigError(
                "say what becomes of an answer whose check failed: --on-error closed (it is blocked) or open"
            )
        if self.after_revision == "annotate" and (self.policy != "revise" or self.on_unverified == "block"):
            raise ConfigError("--after-revision annotate is for --policy revise, without --on-unverified block")
        return self

    @property
    def holds(self) -> bool:
        """Return whether an answer waits for its check."""
        return self.policy != "annotate"

    def allows(self, verdict: AnswerVerdict, revised: bool = False) -> bool:
        """Return whether an answer, or a sentence of one, may go out; `revised` is whether it has had its second try."""
        if not self.holds:
            return True
        match verdict:
            case "contradicted":
                return revised and self.after_revision == "annotate"
            case "unchecked":
                return self.on_error == "open"
            case "unverified":
                return self.on_unverified == "pass"
        return True

    def allowed_until(self, finding: Finding) -> int:
        """Return how many characters of a text that may not go out may do so: those before the first sentence that is
        the reason."""
        if finding.verdict == "unchecked":
            return 0
        return min((entry.sentence.span[0] for entry in finding.sentences if not self.allows(entry.label)), default=0)


class ReferenceRule(Record):
    """What of a conversation counts as reference.

    `tool` stands for the results of tools, `system` for the system prompt, `block` for what stands between `start` and
    `end` in a message of the system or the user; an empty `end` is the end of the message.
    """

    sources: frozenset[Source] = frozenset({"tool", "block"})
    start: str = Field(default="<context>", min_length=1)
    end: str = "</context>"

    def cut(self, text: str) -> tuple[str, list[str]]:
        """Return the text without its blocks, and the blocks. A block that does not end is one to the end."""
        rest, blocks, at = [], [], 0
        while (begin := text.find(self.start, at)) >= 0:
            rest.append(text[at:begin])
            begin += len(self.start)
            end = text.find(self.end, begin) if self.end else -1
            blocks.append(text[begin:] if end < 0 else text[begin:end])
            at = len(text) if end < 0 else end + len(self.end)
        return "".join([*rest, text[at:]]).strip(), [block.strip() for block in blocks if block.strip()]


class ProxySettings(Record):
    """The settings of a proxy. `server` has what it shares with `haluagent serve`.

    `upstream` is the base URL that requests go to, `upstream_key` the key that replaces the client's; with a token and
    no such key, the client's `Authorization` is not passed on. `conversations` are requests in progress at a time.
    `reports` is a folder for reports; without one the last are kept in memory.
    """

    server: ServerSettings
    upstream: str
    upstream_key: Key | None = None
    rules: Rules = Rules()
    reference: ReferenceRule = ReferenceRule()
    conversations: int = Field(default=256, ge=1)
    reports: Path | None = None

    @field_validator("upstream")
    @classmethod
    def _base_url(cls, value: str) -> str:
        return normalize(value)
