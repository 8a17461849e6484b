"""A scripted model, and an endpoint that speaks for it: for the loop's logic, never for a measured result."""

import json
import re
import threading
from collections.abc import Callable, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Literal

from haluagent.protocols import Choice, Generation, Message
from haluagent.types import Usage

Belief = float | Literal["said", "otherwise", "silent"]
Scores = float | Sequence[float]
_SHARES = {"said": (0.98, 0.01, 0.01), "otherwise": (0.01, 0.98, 0.01), "silent": (0.01, 0.01, 0.98)}


def prompt(messages: Sequence[Message]) -> str:
    return "\n".join(message["content"] for message in messages)


def turned(messages: Sequence[Message]) -> bool:
    """Whether option A is the one that denies."""
    return any(denial in prompt(messages) for denial in ("\nA: no", "\nA：不"))


def three_way(messages: Sequence[Message]) -> bool:
    """Whether there is an option C."""
    return re.search(r"^C[:：]", prompt(messages), re.MULTILINE) is not None


def always(letter: str, share: float) -> Callable[[Sequence[Message]], Sequence[float]]:
    """What a model gives to the options that likes one letter, whatever is asked; of A and B, the last if it likes C."""

    def choose(messages: Sequence[Message]) -> Sequence[float]:
        letters = "ABC" if three_way(messages) else "AB"
        liked = letter if letter in letters else letters[-1]
        return [share if one == liked else (1 - share) / (len(letters) - 1) for one in letters]

    return choose


def believes(belief: Belief | Callable[[str], Belief]) -> Callable[[Sequence[Message]], Sequence[float]]:
    """What a model without a lean gives to the options, in whatever order they are: A and B (yes or no), or A, B and C (the
    text says a claim, says otherwise, or is silent). A number is the probability of "yes"; what is left says otherwise."""

    def choose(messages: Sequence[Message]) -> Sequence[float]:
        text = prompt(messages)
        found = belief(text) if callable(belief) else belief
        yes, no, silent = _SHARES[found] if isinstance(found, str) else (found, 0.99 * (1 - found), 0.01 * (1 - found))
        shares = (yes, no, silent) if three_way(messages) else (yes, no + silent)
        return shares[::-1] if turned(messages) else shares

    return choose


class ScriptedModel:
    """A model that says what a function of the conversation tells it to where a grammar holds it (turns, formulas),
    and `free` elsewhere. A line that is a tuple is that many samples. Keeps every conversation it was given."""

    name = "scripted"

    def __init__(
        self,
        say: Callable[[Sequence[Message]], str] | Sequence[str | tuple[str, ...]] = (),
        choose: Callable[[Sequence[Message]], Scores] | float = 0.9,
        context: int = 8192,
        free: str = "",
    ) -> None:
        self._lines = None if callable(say) else iter(say)
        self._say = say if callable(say) else None
        self._choose = choose if callable(choose) else lambda messages: choose
        self.context = context
        self._free = free
        self.seen: list[list[Message]] = []
        self.grammars: list[str | None] = []

    async def generate(
        self,
        messages: Sequence[Message],
        *,
        stop: Sequence[str] = (),
        grammar: str | None = None,
        max_tokens: int = 256,
        temperature: float = 0.0,
        samples: int = 1,
    ) -> Generation:
        self.seen.append([Message(**message) for message in messages])
        self.grammars.append(grammar)
        said = self._free if grammar is None else self._next(messages)
        texts = (said,) * samples if isinstance(said, str) else said
        return Generation(texts=texts, usage=self._usage(messages, texts[0]))

    def _next(self, messages: Sequence[Message]) -> str | tuple[str, ...]:
        return self._say(messages) if self._say else next(self._lines)  # type: ignore[arg-type]

    async def choose(self, messages: Sequence[Message], choices: Sequence[str]) -> Choice:
        """Each choice gets what the script says; where that is one number, the first gets it and the others share the rest."""
        self.seen.append([Message(**message) for message in messages])
        said = self._choose(messages)
        if isinstance(said, int | float):
            said = [said, *[(1 - said) / (len(choices) - 1)] * (len(choices) - 1)]
        probabilities = dict(zip(choices, said, strict=True))
        return Choice(probabilities=probabilities, usage=self._usage(messages, "A"))

    def count_tokens(self, text: str) -> int:
        return (len(text) + 3) // 4

    @staticmethod
    def checked(messages: Sequence[Message]) -> str:
        """The sentence that a conversation is about: S1, S2, …"""
        text = next(message["content"] for message in messages if message["role"] == "user")
        return re.findall(r"(?:Check|核查) (S\d+)", text)[-1]

    @classmethod
    def calculate(cls, messages: Sequence[Message]) -> str:
        """A turn that lets the calculator check the sentence."""
        return f"THOUGHT: a sum\nACTION: calculator(sentence={cls.checked(messages)})"

    def _usage(self, messages: Sequence[Message], text: str) -> Usage:
        prompt = sum(self.count_tokens(message["content"]) for message in messages)
        return Usage(calls=1, prompt_tokens=prompt, generated_tokens=self.count_tokens(text))


class ScriptedEndpoint(ThreadingHTTPServer):
    """An OpenAI-compatible server on loopback. `say(messages)` gives the text, and "Yes", "True" or "A" has 0.9 of a choice.
    Counts its chat requests."""

    daemon_threads = True

    def __init__(self, say: Callable[[Sequence[Message]], str]) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.say = say
        self.chats = 0
        threading.Thread(target=self.serve_forever, args=(0.01,), daemon=True).start()

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/v1"

    def close(self) -> None:
        self.shutdown()
        self.server_close()


class _Handler(BaseHTTPRequestHandler):
    server: ScriptedEndpoint

    def do_GET(self) -> None:
        self._answer(200, {"data": [{"id": "scripted"}]})

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.chats += 1
        choice: dict[str, Any] = {"finish_reason": "stop"}
        if body.get("logprobs"):
            best = [{"token": token, "logprob": -0.105} for token in ("Yes", "A", "是", "True", "正确")]
            other = [{"token": token, "logprob": -2.303} for token in ("No", "B", "否", "False", "错误")]
            choice |= {"message": {"content": "A"}, "logprobs": {"content": [{"top_logprobs": best + other}]}}
        else:
            choice |= {"message": {"content": self.server.say(body["messages"])}}
        prompt = sum(len(message["content"]) for message in body["messages"]) // 4
        usage = {
            "prompt_tokens": prompt,
            "completion_tokens": 5,
            "prompt_tokens_details": {"cached_tokens": prompt // 2},
        }
        return self._answer(200, {"choices": [choice], "usage": usage})

    def _answer(self, status: int, body: dict[str, Any]) -> None:
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *arguments: object) -> None:
        pass
