"""Read the texts to check from arguments, files and standard input.

Every mistake is a ConfigError of one line that says what to change.
"""

from pydantic import ValidationError

from haluagent.cli.references import read_reference
from haluagent.cli.texts import STANDARD_INPUT, read_text
from haluagent.errors import ConfigError
from haluagent.types import Record


class Text(Record):
    """A response and, optionally, the question it answers and a reference to check it against."""

    question: str | None = None
    response: str
    reference: str | None = None


def collect(
    question: str | None,
    response: str | None,
    question_file: str | None,
    response_file: str | None,
    references: list[str],
    input_file: str | None,
    private: bool = False,
) -> Text:
    """Combine the inputs. A response `-` is standard input; with `private`, references may come from the user's own
    network. Raises ConfigError for anything missing, empty, unreadable or given twice."""
    if [question_file, response, response_file, input_file, *references].count(STANDARD_INPUT) > 1:
        raise ConfigError("standard input (-) can be read only once: give the other text as a file or an argument")
    if input_file is not None:
        if any(value is not None for value in (question, response, question_file, response_file)):
            raise ConfigError("--input holds the question and the response: leave --question and --response out")
        text = _from_json(input_file)
    else:
        if response == STANDARD_INPUT and response_file is None:
            response, response_file = None, STANDARD_INPUT
        answer = _one("response", response, response_file)
        if answer is None:
            raise ConfigError("no response: give --response TEXT, --response-file FILE or --input FILE.json")
        text = Text(question=_one("question", question, question_file, empty=True), response=answer)
    given = [text.reference] if text.reference else []
    reference = "\n\n".join([*given, *(read_reference(name, private) for name in references)]) or None
    if not text.response.strip():
        raise ConfigError("the response is empty: there is nothing to check without it")
    return text.model_copy(update={"reference": reference})


def _one(name: str, value: str | None, path: str | None, *, empty: bool = False) -> str | None:
    if value is not None and path is not None:
        raise ConfigError(f"give --{name} or --{name}-file, not both")
    if path is not None:
        return read_text(path, empty=empty)
    if value is not None and any("\ud800" <= character <= "\udfff" for character in value):
        raise ConfigError(f"the {name} is not UTF-8 text: give it with --{name}-file, converted to UTF-8")
    return value


def _from_json(path: str) -> Text:
    name = "standard input" if path == STANDARD_INPUT else path
    try:
        return Text.model_validate_json(read_text(path))
    except ValidationError as error:
        first = error.errors()[0]
        where = f"{'.'.join(map(str, first['loc']))}: " if first["loc"] else ""
        raise ConfigError(
            f'{name} is not a JSON object like {{"question": "…", "response": "…", "reference": "…"}}: '
            f"{where}{first['msg']}"
        ) from error
