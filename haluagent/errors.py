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


class FormatError(HaluAgentError):
    """The model's turn could not be read as a tool call. The model reads the message as an observation."""
