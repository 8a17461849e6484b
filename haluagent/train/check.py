"""Check that both forms of an adapter give the same text: greedy decoding with transformers and peft against
llama.cpp."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from haluagent.errors import ConfigError, HaluAgentError
from haluagent.models.engines.embedded import EmbeddedModel
from haluagent.protocols import Message
from haluagent.train.base import load_model, load_tokenizer, require_extra
from haluagent.train.examples import Encoder
from haluagent.train.trajectories.records import Trajectory

Conversation = list[Message]
PROMPTS, TOKENS = 10, 32


@dataclass(frozen=True)
class Answers:
    """The answers to one prompt, as tokens: from transformers and from the engine, each without and with the
    adapter."""

    plain: tuple[int, ...]
    tuned: tuple[int, ...]
    engine_plain: tuple[int, ...]
    engine_tuned: tuple[int, ...]


def check(
    base: str, peft: Path, weights: Path, gguf: Path, conversations: Sequence[Conversation], tokens: int = TOKENS
) -> list[Answers]:
    """Return the answers of both engines to each conversation, of at most `tokens` tokens. `weights` is the GGUF file
    that the engine runs. If it is quantized, pass the same file as `base`, which is then dequantized; otherwise two
    different models are compared."""
    require_extra()
    tokenizer = load_tokenizer(base)
    plain, tuned = _transformers(base, peft, tokenizer, conversations, tokens)
    engine_plain = asyncio.run(_engine(weights, None, tokenizer, conversations, tokens))
    engine_tuned = asyncio.run(_engine(weights, gguf, tokenizer, conversations, tokens))
    return [Answers(*four) for four in zip(plain, tuned, engine_plain, engine_tuned, strict=True)]


def judge(answers: Sequence[Answers]) -> str:
    """Return lines on how many answers are the same and where the others diverge. Raises HaluAgentError if the adapter
    has no effect in the engine, has a different effect there than in transformers, or changes nothing in either."""
    changed = [answer for answer in answers if answer.plain != answer.tuned]
    if not changed:
        raise HaluAgentError("the adapter changes none of these answers, so nothing was checked: give other --prompts")
    if all(answer.engine_tuned == answer.engine_plain for answer in changed):
        raise HaluAgentError("the GGUF adapter is without effect: the engine says what it says without it")
    as_tuned = sum(common(answer.engine_tuned, answer.tuned) for answer in changed)
    as_base = sum(common(answer.engine_tuned, answer.plain) for answer in changed)
    if as_tuned <= as_base:
        raise HaluAgentError(
            f"the GGUF adapter has another effect: the engine shares {as_tuned} tokens with the fine-tuned model and "
            f"{as_base} with the base model"
        )
    same = sum(answer.engine_tuned == answer.tuned for answer in answers)
    lines = [f"{same} of {len(answers)} answers are the same; {len(changed)} are changed by the adapter"]
    for number, answer in enumerate(answers, start=1):
        if answer.engine_tuned != answer.tuned:
            place = common(answer.engine_tuned, answer.tuned)
            longest = max(len(answer.engine_tuned), len(answer.tuned))
            plain = common(answer.engine_plain, answer.plain)
            lines.append(f"answer {number} parts at token {place} of {longest} (without the adapter at {plain})")
    return "\n".join(lines)


def common(one: Sequence[int], other: Sequence[int]) -> int:
    """Return the length of the common prefix of two answers, in tokens."""
    for place, (a, b) in enumerate(zip(one, other, strict=False)):
        if a != b:
            return place
    return min(len(one), len(other))


def conversations_of(trajectories: Sequence[Trajectory]) -> list[Conversation]:
    """Return ten prompts that ask for a text, spread evenly over a trajectory file. Raises ConfigError if it has
    none."""
    calls = [call for trajectory in trajectories for call in trajectory.calls if call.learn and not call.choices]
    if not calls:
        raise ConfigError("the trajectories of --prompts have no turn that is learned")
    chosen = [calls[len(calls) * number // PROMPTS] for number in range(min(PROMPTS, len(calls)))]
    return [[Message(role=message.role, content=message.content) for message in call.messages] for call in chosen]


def _transformers(
    base: str, peft: Path, tokenizer: Any, conversations: Sequence[Conversation], tokens: int
) -> tuple[list[tuple[int, ...]], list[tuple[int, ...]]]:
    """Return the answers of transformers without and with the adapter."""
    import torch
    from peft import PeftModel

    model: Any = load_model(base, torch.bfloat16)
    if torch.cuda.is_available():
        model = model.cuda()
    model = PeftModel.from_pretrained(model, str(peft)).train(False)
    with model.disable_adapter():
        plain = [_greedy(model, tokenizer, conversation, tokens) for conversation in conversations]
    return plain, [_greedy(model, tokenizer, conversation, tokens) for conversation in conversations]


def _greedy(model: Any, tokenizer: Any, conversation: Conversation, tokens: int) -> tuple[int, ...]:
    """Decode greedily up to the end of the turn."""
    encoder = Encoder(tokenizer)
    import torch

    prompt = torch.tensor([encoder.prompt(conversation)], device=model.device)
    with torch.no_grad():
        ids = model.generate(
            input_ids=prompt, attention_mask=torch.ones_like(prompt), max_new_tokens=tokens, do_sample=False,
            eos_token_id=encoder.end, pad_token_id=encoder.end, use_cache=True,
        )  # fmt: skip
    text = tokenizer.decode(ids[0, prompt.shape[1] :], skip_special_tokens=True)
    return encoder.reply(text, ends=False)


async def _engine(
    weights: Path, lora: Path | None, tokenizer: Any, conversations: Sequence[Conversation], tokens: int
) -> list[tuple[int, ...]]:
    model = EmbeddedModel(str(weights), lora=lora, adapter=None)
    answers = []
    try:
        for conversation in conversations:
            generation = await model.generate(conversation, max_tokens=tokens)
            answers.append(tuple(tokenizer.encode(generation.text, add_special_tokens=False)))
    finally:
        await model.aclose()
    return answers
