"""A detection in progress, as one progress line or as a report of what has arrived so far."""

from collections.abc import Generator, Iterator

from haluagent.detection.verdict import combine
from haluagent.events import Action, Answered, Event, Found, Observation, Revised, Verdict
from haluagent.report.words import WORDS
from haluagent.types import Coverage, Detection, Language, MemoryEntry, Sentence, Step, Usage


class PartialDetection:
    """Collects the events of one detection."""

    def __init__(self, question: str, response: str, language: Language) -> None:
        self.question, self.response, self.language = question, response, language
        self.sentences: dict[int, Sentence] = {}
        self.entries: dict[int, MemoryEntry] = {}
        self.steps: list[Step] = []
        self.finished: Detection | None = None
        self._current = ""

    def add(self, event: Event) -> None:
        """Record an event."""
        match event:
            case Found(sentence=sentence):
                self.sentences[sentence.index] = sentence
            case Action(sentence=index, call=call):
                self._current = call.name if index is None else f"S{index} {call.name}"
            case Observation(step=step):
                self.steps.append(step)
            case Verdict(entry=entry) | Revised(entry=entry):
                self.sentences[entry.sentence.index] = entry.sentence
                self.entries[entry.sentence.index] = entry
            case Answered(detection=detection):
                self.finished = detection

    def follow(self, events: Iterator[Event]) -> Generator[Event, None, None]:
        """Pass events on while recording them. Closing this iterator stops the detection they come from."""
        try:
            for event in events:
                self.add(event)
                yield event
        finally:
            close = getattr(events, "close", None)
            if close is not None:
                close()

    def line(self) -> str:
        """Return a progress line such as `2 of 5 sentences checked · S3 date`. Sentences are checked in parallel, so
        only their number is shown."""
        words = WORDS[self.language]
        if not self.sentences:
            return words["starting"]
        done, found = (sum(index > 0 for index in indexes) for indexes in (self.entries, self.sentences))
        checked = words["checked"].format(done=done, n=found)
        return f"{checked} · {self._current}" if self._current else checked

    def detection(self) -> Detection:
        """Return the final detection or, without one, a detection from what is known, in which sentences not reached
        are unverified."""
        if self.finished is not None:
            return self.finished
        words = WORDS[self.language]
        entries = tuple(
            self.entries.get(index)
            or MemoryEntry(sentence=sentence, label="unverified", confidence=0.0, reason=words["not_reached"])
            # The response as a whole (index 0) comes last, as in a finished detection.
            for index, sentence in sorted(self.sentences.items(), key=lambda item: (item[0] == 0, item[0]))
        )
        hallucination, score = combine(entries)
        looked_at = sum(len(self.sentences[index].text) for index in self.entries)
        return Detection(
            question=self.question,
            response=self.response,
            language=self.language,
            # An unfinished detection never clears a response: True or None, never False.
            hallucination=hallucination or None,
            score=score,
            sentences=entries,
            steps=tuple(self.steps),
            usage=sum((step.usage for step in self.steps), Usage()),
            coverage=Coverage(response=min(1.0, looked_at / max(1, len(self.response)))),
            stop="error",
            error=words["interrupted"],
        )
