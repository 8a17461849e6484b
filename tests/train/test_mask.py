"""The mask token by token, and that a packed row computes what each of its sequences computes alone."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from haluagent.errors import ConfigError
from haluagent.train.trajectories import records

pytestmark = pytest.mark.train

TEMPLATE = (
    "{% for message in messages %}<|im_start|>{{ message['role'] }}\n{{ message['content'] }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
TEXTS = {
    "en": (
        "Check S1.",
        "THOUGHT: the length\nACTION: match(sentence=S1)",
        "OBSERVATION: contradicted",
        "THOUGHT: it differs",
        "B",
    ),
    "zh": (
        "核查 S1。",
        "THOUGHT: 长度不同\nACTION: match(sentence=S1)",
        "OBSERVATION: 矛盾",
        "THOUGHT: 数字不对",
        "是",
    ),
}


def calls(language: str) -> list[dict[str, Any]]:
    """A branch of two turns with a judgement between them, and one call that is not for learning."""
    task, first, observation, second, choice = TEXTS[language]
    begin = [{"role": "system", "content": "You are the agent."}, {"role": "user", "content": task}]
    then = [*begin, {"role": "assistant", "content": first}, {"role": "user", "content": observation}]
    judged = [{"role": "user", "content": observation}]
    return [
        {"prompt": "agent", "sentence": 0, "messages": begin, "reply": first},
        {"prompt": "match", "sentence": 0, "messages": judged, "reply": choice, "choices": [choice, "no"]},
        {"prompt": "agent", "sentence": 0, "messages": then, "reply": second},
        {"prompt": "agent", "sentence": 0, "messages": begin, "reply": "nonsense", "learn": False},
    ]


@pytest.fixture
def trajectory() -> Callable[[str], records.Trajectory]:
    def make(language: str) -> records.Trajectory:
        row = {
            "id": "a", "group": "a", "source": "hand", "kind": "knowledge", "language": language, "question": "?",
            "response": "!", "gold": True, "teacher": "gold", "verdict": True, "calls": calls(language),
        }  # fmt: skip
        return records.parse(records.Trajectory, json.loads(json.dumps(row)), "here")

    return make


@pytest.fixture(scope="module")
def tokenizer() -> Any:
    """A small vocabulary of both languages' bytes, with a chat template."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    words = Tokenizer(models.BPE())
    words.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    words.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=400,
        special_tokens=["<|im_start|>", "<|im_end|>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
    )
    words.train_from_iterator([text for texts in TEXTS.values() for text in texts] * 5, trainer)
    made = PreTrainedTokenizerFast(
        tokenizer_object=words, eos_token="<|im_end|>", additional_special_tokens=["<|im_start|>"]
    )
    made.chat_template = TEMPLATE
    return made


@pytest.mark.parametrize("language", ["en", "zh"])
def test_only_the_replies_are_learned(
    language: str, tokenizer: Any, trajectory: Callable[[str], records.Trajectory]
) -> None:
    from haluagent.train.examples import Encoder, make_examples

    examples, counts = make_examples([trajectory(language)], Encoder(tokenizer), 1000, choice_weight=2.0)
    learned = [tokenizer.decode(example.ids[-example.learned :]) for example in examples]
    _, first, _, second, choice = TEXTS[language]
    assert learned == [f"{first}<|im_end|>", choice, f"{second}<|im_end|>"]
    for example, call in zip(examples, calls(language), strict=False):
        masked = tokenizer.decode(example.ids[: -example.learned])
        assert masked == tokenizer.apply_chat_template(call["messages"], tokenize=False, add_generation_prompt=True)
    assert [example.weight for example in examples] == [1.0, 2.0, 1.0]
    assert (counts.calls, counts.not_learned, counts.too_long) == (4, 1, 0)
    assert counts.learned_tokens == sum(example.learned for example in examples)


def test_a_call_that_is_too_long_is_left_out_whole(
    tokenizer: Any, trajectory: Callable[[str], records.Trajectory]
) -> None:
    from haluagent.train.examples import Encoder, make_examples

    encoder = Encoder(tokenizer)
    whole, _ = make_examples([trajectory("zh")], encoder, 1000)
    longest = max(len(example.ids) for example in whole)
    examples, counts = make_examples([trajectory("zh")], encoder, longest - 1)
    assert counts.too_long == 1
    assert examples == [example for example in whole if len(example.ids) < longest]


def test_a_base_without_a_chat_template(tokenizer: Any) -> None:
    from haluagent.train.examples import Encoder

    class Bare:
        chat_template = None
        name_or_path = "bare"

    with pytest.raises(ConfigError, match="instruct"):
        Encoder(Bare())  # type: ignore[arg-type]


def untrained(tokenizer: Any, heads: int) -> Any:
    """A small model with random weights, the same for the same number of key heads."""
    import torch
    from transformers import Qwen2Config, Qwen2ForCausalLM

    torch.manual_seed(0)
    sizes = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 3, "num_attention_heads": 2}
    config = Qwen2Config(vocab_size=len(tokenizer), num_key_value_heads=heads, initializer_range=0.3, **sizes)
    return Qwen2ForCausalLM(config).eval()


@pytest.mark.parametrize("heads", [1, 2])
def test_a_packed_row_has_the_losses_of_its_sequences(
    heads: int, tokenizer: Any, trajectory: Callable[[str], records.Trajectory]
) -> None:
    import torch

    from haluagent.train.examples import Encoder, make_examples
    from haluagent.train.pack import pack
    from haluagent.train.sft import columns
    from haluagent.train.trainer import collate, tree_loss

    model = untrained(tokenizer, heads)
    examples, _ = make_examples([trajectory("en"), trajectory("zh")], Encoder(tokenizer), 1000, choice_weight=2.0)
    (row,) = pack(examples, 1000)
    assert len(row) < sum(len(example.ids) - 1 for example in examples)
    packed = tree_loss(model, collate([columns(row)]))
    alone = torch.zeros(())
    for example in examples:
        labels = torch.tensor([[-100] * (len(example.ids) - example.learned) + list(example.ids[-example.learned :])])
        mean = model(input_ids=torch.tensor([example.ids]), labels=labels).loss
        alone = alone + mean * example.learned * example.weight
    assert packed.item() > 100
    assert abs(packed.item() - alone.item()) < 1e-5 * alone.item()
    packed_gradient = torch.autograd.grad(packed, model.model.embed_tokens.weight)[0]
    alone_gradient = torch.autograd.grad(alone, model.model.embed_tokens.weight)[0]
    assert torch.allclose(packed_gradient, alone_gradient, atol=1e-4, rtol=1e-4)


def test_rows_computed_together_have_the_losses_of_each(
    tokenizer: Any, trajectory: Callable[[str], records.Trajectory]
) -> None:
    import torch

    from haluagent.train.examples import Encoder, make_examples
    from haluagent.train.pack import pack
    from haluagent.train.sft import columns
    from haluagent.train.trainer import collate, tree_loss

    model = untrained(tokenizer, heads=2)
    examples, _ = make_examples([trajectory("en"), trajectory("zh")], Encoder(tokenizer), 1000, choice_weight=2.0)
    rows = [columns(row) for row in pack(examples, max(len(example.ids) for example in examples))]
    assert len({len(row["ids"]) for row in rows}) == len(rows) > 1, "of several lengths"
    for apart in (False, True):
        given = [columns(pack([example], 1000)[0]) for example in examples] if apart else rows
        together = tree_loss(model, collate(given), apart)
        alone = torch.stack([tree_loss(model, collate([row]), apart) for row in given]).sum()
        assert together.item() > 100 and abs(together.item() - alone.item()) < 1e-5 * alone.item()
        weights = model.model.layers[0].self_attn.q_proj.weight
        assert torch.allclose(
            torch.autograd.grad(together, weights)[0], torch.autograd.grad(alone, weights)[0], atol=1e-4, rtol=1e-4
        )


def test_a_pair_has_the_likelihoods_of_its_branches(
    tokenizer: Any, trajectory: Callable[[str], records.Trajectory], tmp_path: Path
) -> None:
    """What trl's loss reads from the trees, padded to one size, is the sum over the calls of each branch alone."""
    import torch
    from datasets import Dataset
    from transformers import Qwen2Config, Qwen2ForCausalLM

    from haluagent.train.dpo import columns
    from haluagent.train.examples import Encoder
    from haluagent.train.preferences import branch_of
    from haluagent.train.settings import settings
    from haluagent.train.trainer import PairTrainer, collate_pair, dpo_arguments, lora

    torch.manual_seed(0)
    sizes = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 2}
    model = Qwen2ForCausalLM(
        Qwen2Config(vocab_size=len(tokenizer), num_key_value_heads=1, initializer_range=0.3, **sizes)
    )
    encoder = Encoder(tokenizer)
    branches = [
        [call for call in trajectory(language).calls if call.prompt == "agent"][:2] for language in ("en", "zh")
    ]
    alone = []
    for branch in branches:
        total = 0.0
        for example in map(encoder.example, branch):
            labels = torch.tensor(
                [[-100] * (len(example.ids) - example.learned) + list(example.ids[-example.learned :])]
            )
            total -= model(input_ids=torch.tensor([example.ids]), labels=labels).loss.item() * example.learned
        alone.append(total)
    better, worse = (branch_of(branch, encoder) for branch in branches)
    assert len(better.row) != len(worse.row)
    pair = columns("chosen", better) | columns("rejected", worse)
    arguments = dpo_arguments(tmp_path, settings("preferences"), None, 0.1)
    arguments.mixed_precision = "no"  # as the branches were computed: processors round bfloat16 differently
    trainer = PairTrainer(
        model=model,
        args=arguments,
        train_dataset=Dataset.from_list([pair]),
        data_collator=collate_pair,
        processing_class=tokenizer,
        peft_config=lora(settings("preferences"), ["q_proj"]),
    )
    chosen, rejected = trainer.compute_ref_log_probs(trainer.model, collate_pair([pair]))
    assert [chosen.item(), rejected.item()] == pytest.approx(alone, rel=1e-4)
