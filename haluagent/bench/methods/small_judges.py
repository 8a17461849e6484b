"""Small judges with weights of their own, which ask no endpoint: MiniCheck, HHEM-2.1-Open and LettuceDetect.

Each gets the text in the form that its publisher uses, in English, and is read as its publisher reads it. They need torch and
transformers (extra `cross-encoder`). No code that comes with weights is run.
"""

import asyncio
import re
import threading
import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from haluagent.agent import HaluAgent
from haluagent.bench.datasets.items import Item
from haluagent.bench.methods.grounded import NO_REFERENCE
from haluagent.bench.rows import Row, blank
from haluagent.errors import ConfigError, ModelError
from haluagent.text.segment import split
from haluagent.text.windows import windows

# Of the reference, as MiniCheck cuts it for Flan-T5. A word of four tokens and more is as long as several.
CHUNK_WORDS, WORD_TOKENS = 500, 4
NO, YES = 3, 209  # the tokens of Flan-T5 with which the answers 0 and 1 begin
LETTUCE_TOKENS = 4096  # the length that LettuceDetect was trained for
_HUB_NAME = re.compile(r"[\w-][\w.-]*/[\w.-]+")
_Method = Callable[[HaluAgent, Item, str], Awaitable[Row]]


class _Judge(NamedTuple):
    """`architecture` is a class of transformers; `read` returns the probability in [0, 1] that the response is wrong, from
    the model, its tokenizer, question, response and reference."""

    architecture: str
    read: Callable[[Any, Any, str, str, str], float]


def _minicheck(model: Any, tokenizer: Any, question: str, response: str, reference: str) -> float:
    """Return 1 minus the support of the least supported sentence, whose support is that by the best chunk (Tang et al., 2024,
    arXiv 2404.10774)."""

    def support(chunk: str, sentence: str) -> float:
        text = f"predict: {chunk}{tokenizer.eos_token}{sentence}"
        encoded = tokenizer(text, return_tensors="pt").to(model.device)
        start = encoded["input_ids"].new_zeros((1, 1))
        return float(model(**encoded, decoder_input_ids=start).logits[0, 0, [NO, YES]].softmax(-1)[1])

    def length(text: str) -> int:
        return max(len(text.split()), len(tokenizer(text)["input_ids"]) // WORD_TOKENS)

    places = windows(reference, CHUNK_WORDS, length)
    chunks = [reference[start:end].strip() for start, end in places]
    return 1 - min(max(support(chunk, one.text) for chunk in chunks) for one in split(response))


def _hhem(model: Any, tokenizer: Any, question: str, response: str, reference: str) -> float:
    """Return 1 minus the consistency of the whole response with the whole reference, read at the first token (model card of
    vectara/hallucination_evaluation_model)."""
    task = "Determine if the hypothesis is true given the premise?"
    text = f"<pad> {task}\n\nPremise: {reference}\n\nHypothesis: {response}"
    return float(model(**tokenizer(text, return_tensors="pt").to(model.device)).logits[0, 0].softmax(-1)[0])


def _lettucedetect(model: Any, tokenizer: Any, question: str, response: str, reference: str) -> float:
    """Return the highest probability of a token of the response to be hallucinated (Kovács and Recski, 2025, arXiv
    2502.17125). The end of a reference that is too long is cut off."""
    task = (
        f"Briefly answer the following question:\n{question}\nBear in mind that your response should be strictly based on the "
        f"following 1 passages:\npassage 1: {reference}\nIn case the passages do not contain the necessary information to answer "
        'the question, please reply with: "Unable to answer based on given passages."\noutput:'
    )
    if not question:
        task = f"Summarize the following text:\npassage 1: {reference}\noutput:"
    if len(tokenizer(response)["input_ids"]) >= LETTUCE_TOKENS:
        raise ModelError(f"the response is longer than the {LETTUCE_TOKENS:,} tokens that LettuceDetect reads")
    encoded = tokenizer(task, response, truncation="only_first", max_length=LETTUCE_TOKENS, return_tensors="pt")
    answer = [place for place, part in enumerate(encoded.sequence_ids(0)) if part == 1]
    return float(model(**encoded.to(model.device)).logits[0].softmax(-1)[answer, 1].max())


SMALL_JUDGES = {
    "minicheck": _Judge("T5ForConditionalGeneration", _minicheck),
    "hhem": _Judge("T5ForTokenClassification", _hhem),
    "lettucedetect": _Judge("AutoModelForTokenClassification", _lettucedetect),
}


def load(given: Sequence[str]) -> dict[str, _Method]:
    """Return a benchmark method for each NAME=PATH, where PATH is a directory with the weights of that judge, or OWNER/NAME on
    a hub. A method is called after both, so that a run never mixes weights: `hhem:hallucination_evaluation_model`. Raises
    ConfigError if a judge is unknown, given twice, or its weights cannot be loaded."""
    places: dict[str, tuple[str, str]] = {}
    for one in given:
        name, _, place = one.partition("=")
        label = f"{name}:{Path(place).absolute().name}"
        if name not in SMALL_JUDGES or not place or label in places:
            raise ConfigError(f"--weights {one}: write NAME=PATH, each once; the names are {', '.join(SMALL_JUDGES)}")
        if not Path(place).is_dir() and not _HUB_NAME.fullmatch(place):
            raise ConfigError(
                f"--weights {one}: there is no directory {place}; name one, or a model on a hub as OWNER/NAME"
            )
        places[label] = (name, place)
    return {label: _method(label, SMALL_JUDGES[name], *_loaded(name, place)) for label, (name, place) in places.items()}


def _loaded(name: str, place: str) -> tuple[Any, Any]:
    """Return the model and its tokenizer, on the GPU if there is one."""
    try:
        import torch
        import transformers
    except ImportError:
        raise ConfigError(f'{name} needs torch and transformers: pip install "haluagent[cross-encoder]"') from None
    transformers.utils.logging.disable_progress_bar()
    base, options = place, {}
    try:
        if name == "hhem":
            # Its code does not run in transformers 5. It only wraps a T5 encoder with a head, whose sizes and tokenizer are
            # those of another model, its `foundation`.
            base = transformers.PretrainedConfig.get_config_dict(place)[0].get("foundation")
            if base is None:
                raise ValueError("its config.json names no foundation, as that of HHEM-2.1-Open does")
            options = {"config": transformers.AutoConfig.from_pretrained(base), "key_mapping": {r"^t5\.": ""}}
        architecture = getattr(transformers, SMALL_JUDGES[name].architecture)
        model, found = architecture.from_pretrained(
            place, dtype=torch.float32, output_loading_info=True, trust_remote_code=False, **options
        )
        tokenizer = transformers.AutoTokenizer.from_pretrained(base, trust_remote_code=False)
    except Exception as error:  # what is raised depends on the files and the versions of the libraries
        raise ConfigError(
            f"the weights of {name} in {place} cannot be read ({' '.join(str(error).split())[:200]})"
        ) from error
    if found["missing_keys"] or getattr(model, "num_labels", 2) != 2:
        raise ConfigError(f"{place} holds another model than {name}: it lacks its weights, or has other classes")
    device = "cuda" if torch.cuda.is_available() else "cpu"
    return model.requires_grad_(False).to(device), tokenizer


def _method(label: str, judge: _Judge, model: Any, tokenizer: Any) -> _Method:
    """Return the method: from a probability of one half on, the response is a hallucination. It costs no calls or tokens."""
    one_at_a_time = threading.Lock()  # a tokenizer must not be used by two threads

    def score(item: Item) -> tuple[float, float]:
        with one_at_a_time:
            began = time.monotonic()
            risk = judge.read(model, tokenizer, item.question, item.response, item.reference or "")
            return risk, time.monotonic() - began

    async def method(agent: HaluAgent, item: Item, dataset: str) -> Row:
        row = blank(item, dataset, label)
        if not item.reference:
            return row.model_copy(update={"error": NO_REFERENCE})
        if not split(item.response):
            return row.model_copy(update={"error": "the response has no sentence"})
        risk, seconds = await asyncio.to_thread(score, item)
        return row.model_copy(update={"verdict": risk >= 0.5, "score": risk, "seconds": seconds})

    return method
