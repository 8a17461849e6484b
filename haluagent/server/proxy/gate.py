"""The gate of a stream: its text goes out sentence by sentence, as far as it was checked."""

import re
from collections import defaultdict, deque
from collections.abc import Iterator

from haluagent.server.proxy.conversation import Conversation
from haluagent.server.proxy.forms import Piece, Texts
from haluagent.server.proxy.records import Finding
from haluagent.server.proxy.sse import SentEvent
from haluagent.text.segment import split

_END = re.compile(r"[.!?。！？;；…\n]\W*\w")
LONG_TAIL = 2000  # characters without the end of a sentence, from which on it is looked for less often


class Gate:
    """Holds the events of a stream back until the text in them may go out. They leave in the order in which they came.

    `shift` is how many events more than came have left.
    """

    def __init__(self, conversation: Conversation) -> None:
        self.texts = Texts()
        self.shift = 0
        self._conversation = conversation
        self._form = conversation.form
        self._waiting: deque[tuple[Piece, int, int]] = deque()  # each with its span in the text of its choice
        # Of each choice: characters looked at for the ends of sentences, checked, allowed to go out, and gone out.
        self._looked, self._checked, self._free, self._gone = (defaultdict[str, int](int) for _ in range(4))
        self._found: dict[str, Finding] = {}

    def add(self, event: SentEvent) -> list[str]:
        """Take an event. Return the choices that have something more to check: a whole sentence, or their end."""
        ready = []
        for piece in self._form.pieces(event):
            start, end = self.texts.add(piece)
            self._waiting.append((piece, start, end))
            if piece.choice is not None and (piece.ends or self._may_end(piece.choice)):
                ready.append(piece.choice)
                self._looked[piece.choice] = end
        return ready

    async def check(self, choice: str, ended: bool = False) -> None:
        """Check the whole sentences of a choice that were not checked yet, or all that is left of it if it has `ended`."""
        conversation, text, start = self._conversation, self.texts.of[choice], self._checked[choice]
        if choice in conversation.sent:
            conversation.answers[choice] = conversation.answers[choice].model_copy(update={"text": text})
            return
        end = len(text) if ended or choice in self.texts.ended else start + _whole(text[start:])
        if end == start:
            return
        finding = await conversation.find(text[start:end])
        before = self._found.get(choice, Finding(verdict="no_claim"))
        self._found[choice] = before + finding.at(start, len([one for one in before.sentences if one.sentence.index]))
        allowed = conversation.rules.allows(finding.verdict)
        self._checked[choice] = end
        self._free[choice] = end if allowed else start + conversation.rules.allowed_until(finding)
        conversation.decide(choice, text, self._found[choice], text[: self._free[choice]])

    def decided(self) -> None:
        """Let out what the conversation decided of whole answers."""
        for choice, text in self.texts.of.items():
            self._free[choice] = 0 if choice in self._conversation.sent else len(text)

    def open(self) -> Iterator[bytes]:
        """Yield the events that may go out now."""
        sent = self._conversation.sent
        while self._waiting:
            piece, start, end = self._waiting[0]
            choice = piece.choice
            if choice is None or end <= self._free[choice]:
                self._waiting.popleft()
                yield from self._leave([piece], choice, end)
            elif start < (free := self._free[choice]) and piece.whole is None:
                front, rest = self._form.split(piece, free - start)
                self._waiting[0] = (rest, free, end)
                yield from self._leave([front], choice, free)
                self.shift += 1  # the rest is an event more
            elif choice in sent:
                self._waiting.popleft()
                refusal = sent[choice][self._gone[choice] :]
                yield from self._leave(list(self._form.refused(piece, refusal)), choice, len(sent[choice]))
            else:
                return

    def _leave(self, pieces: list[Piece], choice: str | None, gone: int) -> Iterator[bytes]:
        """Yield what stands for one event that came, with which a choice has `gone` out up to there."""
        for number, piece in enumerate(pieces):
            closed = self._form.closing(piece, self._conversation.sent)
            yield self._form.numbered(closed, self.shift + number).encoded()
        self.shift += len(pieces) - 1
        if choice is not None:
            self._gone[choice] = gone

    def _may_end(self, choice: str) -> bool:
        """Check whether a sentence may have ended since the last look, cheaply: an end and something behind it is new."""
        text, start = self.texts.of[choice], self._checked[choice]
        looked = max(start, self._looked[choice])
        if len(text) - start > LONG_TAIL and (len(text) - looked) * 10 < len(text) - start:
            return False
        return _END.search(text, max(start, looked - 8)) is not None


def _whole(text: str) -> int:
    """Return how many characters of a text are whole sentences: those that another one follows."""
    sentences = split(text)
    return sentences[-1].span[0] if len(sentences) > 1 else 0
