"""An exception in one line, for a report, a log or the model."""

from pydantic import ValidationError

from haluagent.text.normalize import without_surrogates

LONGEST = 500  # characters of an exception's own text


def describe(error: BaseException) -> str:
    """Return the type of an exception and its text, if it has one (a time-out has none). Never raises."""
    try:
        text = " ".join(without_surrogates(_text(error)).split())[:LONGEST]
    except BaseException:
        text = "its text cannot be read"
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def _text(error: BaseException) -> str:
    """Return the text of an exception; of pydantic's, which takes several lines, the first field that is wrong."""
    if not isinstance(error, ValidationError):
        return str(error)
    first = error.errors(include_url=False)[0]
    field = ".".join([error.title, *map(str, first["loc"])])
    return f"{field}: {first['msg']}, and it is {str(first['input'])[:80]!r}"
