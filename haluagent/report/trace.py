"""The steps of a detection as lines, in the format that the model reads and writes."""

from collections.abc import Iterator

from haluagent.events import Action, Event, Found, Observation, Revised, Thought, Verdict
from haluagent.report.lines import Line, before_text, entry_lines, usage_text
from haluagent.report.words import LABELS, MARKS, STYLES, WORDS
from haluagent.tooling.turn_format import ACTION, OBSERVATION, THOUGHT, write_call
from haluagent.types import Language, MemoryEntry, Step


def starting_line(language: Language) -> Line:
    """Return the line shown before the first event, which waits for the model (and, the first time, for its
    weights)."""
    return Line(("dim", WORDS[language]["model_starting"]))


def event_lines(event: Event, language: Language, evidence: bool = False) -> Iterator[Line]:
    """Yield the lines for an event; with `evidence`, those of a verdict include its evidence."""
    match event:
        case Found(sentence=sentence):
            found = WORDS[language]["found_sentence"]
            yield Line(("dim", f"{sentence.name} {found}"), ("", sentence.claim))
        case Thought(sentence=index, text=text) if text:
            yield Line(("dim", _name(index) + THOUGHT[language]), ("", text), indent=2)
        case Action(sentence=index, call=call):
            yield Line(("dim", _name(index) + ACTION[language]), ("cyan", write_call(call)), indent=2)
        case Observation(sentence=index, step=step, text=text):
            yield _observation(index, text, step, language)
        case Verdict(entry=entry) | Revised(entry=entry) if evidence:
            yield from entry_lines(entry, language)
        case Verdict(entry=entry):
            yield Line(_label(entry, language))
        case Revised(entry=entry):
            before = "" if entry.revised_from is None else f" [{before_text(entry.revised_from, language)}]"
            yield Line(_label(entry, language), ("", WORDS[language]["colon"] + entry.reason), ("dim", before))


def step_lines(step: Step, language: Language) -> Iterator[Line]:
    """Yield the lines of a recorded step, as they were when it arrived."""
    yield from event_lines(Thought(sentence=step.sentence, text=step.thought), language)
    if step.call is not None:
        yield from event_lines(Action(sentence=step.sentence, call=step.call), language)
    yield _observation(step.sentence, step.result.observation if step.result else "", step, language)


def _observation(index: int | None, text: str, step: Step, language: Language) -> Line:
    cost = f" [{usage_text(step.usage, language)}]" if step.usage.calls else ""
    style = "yellow" if step.error else ""
    return Line(
        ("dim", _name(index) + OBSERVATION[language]), (style, text or step.error or ""), ("dim", cost), indent=2
    )


def _name(index: int | None) -> str:
    return "" if index is None else f"S{index} "


def _label(entry: MemoryEntry, language: Language) -> tuple[str, str]:
    return STYLES[entry.label], f"{entry.sentence.name} {MARKS[entry.label]} {LABELS[language][entry.outcome]}"
