"""Tiny random models with a tokenizer and a chat template, as directories, and trajectories to train them on."""

import json
from pathlib import Path
from typing import Any

from haluagent.train.trajectories import records

TEMPLATE = (
    "{% for message in messages %}<|im_start|>{{ message['role'] }}\n{{ message['content'] }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
SIZES = {
    "hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2,
    "max_position_embeddings": 512,
}  # fmt: skip
FAMILIES: dict[str, dict[str, Any]] = {"qwen2": {}, "llama": {}, "qwen3": {"head_dim": 32}}
SYSTEM = "Check the sentence. Write THOUGHT and ACTION."
REPLY = "THOUGHT: the height\nACTION: match(sentence=S1)"


def config(family: str, vocabulary: int = 300) -> Any:
    from transformers import AutoConfig

    return AutoConfig.for_model(family, vocab_size=vocabulary, initializer_range=0.2, **SIZES, **FAMILIES[family])


def tokenizer() -> Any:
    """Bytes, with the marks of a turn."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    marks = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
    words = Tokenizer(models.BPE({token: number for number, token in enumerate([*letters, *marks])}, []))
    words.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    words.decoder = decoders.ByteLevel()
    words.add_special_tokens(marks)
    made = PreTrainedTokenizerFast(tokenizer_object=words, eos_token="<|im_end|>", pad_token="<|endoftext|>")
    made.chat_template = TEMPLATE
    return made


def model(family: str, folder: Path) -> Path:
    """Write a random model of a family to a directory."""
    import torch
    from transformers import AutoModelForCausalLM

    torch.manual_seed(0)
    AutoModelForCausalLM.from_config(config(family)).save_pretrained(folder)
    tokenizer().save_pretrained(folder)
    return folder


def trajectories(path: Path, count: int = 6) -> Path:
    """Write detections of one turn and one scored choice each."""
    made = []
    for number in range(count):
        task = f"The tower is {number} metres high. Check S1."
        messages = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": task}]
        calls = [
            {"prompt": "agent", "sentence": 1, "messages": messages, "reply": REPLY},
            {"prompt": "match", "messages": messages[1:], "reply": "B", "choices": ["A", "B"]},
        ]
        row = {
            "id": f"tower:{number}", "group": "tower", "source": "hand", "kind": "knowledge", "language": "en", "question": "?",
            "response": task, "gold": True, "teacher": "gold", "verdict": True, "labels": ["contradicted"], "calls": calls,
        }  # fmt: skip
        made.append(records.parse(records.Trajectory, json.loads(json.dumps(row)), "here"))
    records.write(path, made)
    return path
