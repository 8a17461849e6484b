"""The errors a caller can meet, and what each one means for a detection."""


class HaluAgentError(Exception):
    """Base of every error this package raises on purpose."""


class ConfigError(HaluAgentError):
    """The user's to fix: the message is one line that says how. Exit code 2."""


class ModelError(HaluAgentError):
    """The model's endpoint failed after its retries.

    Fatal for the detection it happened in: recorded there, never turned into a label.
    """


class ToolError(HaluAgentError):
    """A tool could not do its work. The model reads the message as an observation."""


class SandboxError(ToolError):
    """The sandbox failed (a dead daemon, a full disk), which says nothing about the code."""


class NoSandbox(SandboxError):
    """There is no sandbox here; the message says how to get one."""


class SearchError(ToolError):
    """A search could not be made, which says nothing about what there is to find."""


class QuotaExhausted(SearchError):
    """The search service, or the budget of the user, allows no more queries for now."""


class SearchTimeout(SearchError):
    """The search service did not answer in time."""


class FormatError(HaluAgentError):
    """The model's turn could not be read as a tool call. The model reads the message as an observation."""
