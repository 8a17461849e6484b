"""One text to check, and the prompts about it. What all branches share comes first in them, for the prefix cache."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from haluagent.errors import ConfigError
from haluagent.models.calibration import fine_tuned_tools_of
from haluagent.prompts import render
from haluagent.protocols import Message, Model
from haluagent.text.windows import clip
from haluagent.tooling.registry import Registry
from haluagent.tooling.tool import no_sentence
from haluagent.types import Language, MemoryEntry, Sentence

ANSWER_TOKENS = 768  # kept free for a branch's own turns and observations


@dataclass(frozen=True)
class DetectionTask:
    """The input of a detection, and its sentences once they are cut.

    `windows` are runs of sentences that fit the model's context together. `room` is the number of tokens for them; a
    single sentence that takes more is shown by its beginning and end, and `hidden` counts the characters between.
    """

    question: str
    response: str
    language: Language
    sentences: tuple[Sentence, ...]
    reference: str | None
    system: str
    windows: tuple[tuple[Sentence, ...], ...]
    room: int
    count: Callable[[str], int]

    @property
    def hidden(self) -> int:
        """Count the characters of sentences that are too long to be shown whole."""
        return sum(clip(sentence.text, self.room, self.count)[1] for sentence in self.sentences)

    def segmented(self, sentences: tuple[Sentence, ...]) -> "DetectionTask":
        """Return the task with the sentences of its response, in windows that fit the model's context."""
        return replace(self, sentences=sentences, windows=_windows(sentences, self.room, self.count))

    def completed(self, sentences: tuple[Sentence, ...]) -> "DetectionTask":
        """Return the task with its sentences completed; which of them share a window stays as it is."""
        new = {sentence.index: sentence for sentence in sentences}
        windows = tuple(tuple(new[sentence.index] for sentence in window) for window in self.windows)
        return replace(self, sentences=sentences, windows=windows)

    def messages(self, sentence: Sentence, known: Sequence[MemoryEntry] = ()) -> list[Message]:
        """Return the messages that open the branch of one sentence, with what is known of those it rests on at the end."""
        messages = self._open(self._window(sentence), sentence.name, sentence.claim)
        if known:
            messages[-1]["content"] += "\n" + render("known", self.language, entries=known)
        return messages

    def review(self, entries: Sequence[MemoryEntry]) -> list[Message]:
        """Return the messages that ask to look back over all results."""
        shown = render(
            "review", self.language, question=self.question, reference=self.reference is not None, entries=entries
        )
        return self._conversation(shown)

    def opening(self) -> list[Message]:
        """Return the messages that open a single transcript over the whole response, not yet split."""
        whole = Sentence(index=0, text=self.response, span=(0, len(self.response)))
        messages = self._open((whole,), None, "")
        messages[-1]["content"] += "\n" + render("linear", self.language)
        return messages

    def _window(self, sentence: Sentence) -> tuple[Sentence, ...]:
        for window in self.windows:
            if any(other.index == sentence.index for other in window):
                return window
        return self.windows[-1]  # the whole response is judged with its conclusion in view

    def _open(self, shown: Sequence[Sentence], target: str | None, claim: str) -> list[Message]:
        item = {
            "question": self.question,
            "reference": self.reference,
            "sentences": [(sentence.name, clip(sentence.text, self.room, self.count)[0]) for sentence in shown],
            "target": target,
            "claim": clip(claim, self.room // 2, self.count)[0],
        }
        return self._conversation(render("task", self.language, item=item))

    def _conversation(self, said: str) -> list[Message]:
        return [{"role": "system", "content": self.system}, {"role": "user", "content": said}]


def make_task(
    question: str,
    response: str,
    reference: str | None,
    language: Language,
    registry: Registry,
    model: Model,
    single_transcript: bool = False,
    demos: bool = True,
    free: bool = False,
) -> DetectionTask:
    """Render what the branches share. The response is not yet cut into sentences: see `DetectionTask.segmented`.

    Only in a single transcript does the model split the response itself, so only there it is shown how. A model that was
    fine-tuned on tools is shown no examples of them; without `demos`, no model is. A tool that the response has no need of
    (`Tool.listed`) is not shown, and one that decides no sentence by itself only where the model chooses among all (`free`, or a
    single transcript).
    Raises ConfigError where the question leaves no room in the model's context.
    """
    choosing = free or single_transcript
    listed = registry.listed(question, response)
    tools = [tool for tool in listed if choosing or tool.system or tool.when is not no_sentence]
    shown = [tool for tool in tools if single_transcript or tool.name != "split_text"]
    known = fine_tuned_tools_of(model)
    unknown = [tool for tool in shown if demos and tool.name not in known]
    examples = [demo for tool in unknown for demo in tool.demos if demo.language == language]
    system = render("system", language, tools=tools, demos=examples)
    asked = model.count_tokens(question)
    told = model.count_tokens(system)
    room = model.context - told - asked - ANSWER_TOKENS
    if room < model.context // 8:
        raise ConfigError(
            f"the question takes {asked} tokens and the agent's instructions {told}, too many for the model's context "
            f"of {model.context}; pass long material as the reference, or use a model with a longer context"
        )
    room = room * 2 // 3  # the rest is for the sentence that is repeated at the end
    return DetectionTask(question, response, language, (), reference, system, (), room, model.count_tokens)


def _windows(
    sentences: tuple[Sentence, ...], room: int, count: Callable[[str], int]
) -> tuple[tuple[Sentence, ...], ...]:
    windows: list[list[Sentence]] = [[]]
    used = 0
    for sentence in sentences:
        cost = count(sentence.text) + 8
        if windows[-1] and used + cost > room:
            windows.append([])
            used = 0
        windows[-1].append(sentence)
        used += cost
    return tuple(map(tuple, windows))
