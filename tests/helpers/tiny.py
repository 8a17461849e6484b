"""Tiny random models with a tokenizer and a chat template, as directories, and trajectories to train them on."""

import json
import shutil
from pathlib import Path
from typing import Any

from places import ROOT

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
MERGE = ("Ġ", "t")  # the only one: a vocabulary without any is refused by llama.cpp
SYSTEM = "Check the sentence. Write THOUGHT and ACTION."
REPLY = "THOUGHT: the height\nACTION: match(sentence=S1)"


def config(family: str, vocabulary: int = 300, **sizes: int) -> Any:
    from transformers import AutoConfig

    chosen = SIZES | FAMILIES[family] | sizes
    return AutoConfig.for_model(family, vocab_size=vocabulary, initializer_range=0.2, **chosen)


def tokenizer() -> Any:
    """Bytes, with the marks of a turn."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    marks = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
    vocabulary = {token: number for number, token in enumerate([*letters, *marks, "".join(MERGE)])}
    words = Tokenizer(models.BPE(vocabulary, [MERGE]))
    words.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    words.decoder = decoders.ByteLevel()
    words.add_special_tokens(marks)
    made = PreTrainedTokenizerFast(tokenizer_object=words, eos_token="<|im_end|>", pad_token="<|endoftext|>")
    made.chat_template = TEMPLATE
    return made


def model(family: str, folder: Path, **sizes: int) -> Path:
    """Write a random model of a family to a directory; "packed" is one that brings its code with it (tests/data/own_code)."""
    import torch
    from transformers import AutoModelForCausalLM

    torch.manual_seed(0)
    if family == "packed":
        _packed(folder)
    else:
        AutoModelForCausalLM.from_config(config(family, **sizes)).save_pretrained(folder)
    tokenizer().save_pretrained(folder)
    return folder


def _packed(folder: Path) -> None:
    """Write a random model with its code, as files that are only read with the user's consent."""
    import torch
    from safetensors.torch import save_file

    folder.mkdir(parents=True)
    for file in (ROOT / "tests" / "data" / "own_code").glob("*.py"):
        shutil.copy(file, folder)
    sizes = {
        name: size for name, size in SIZES.items() if name not in ("num_key_value_heads", "max_position_embeddings")
    }
    auto = {
        "AutoConfig": "configuration_packed.PackedConfig",
        "AutoModelForCausalLM": "modeling_packed.PackedForCausalLM",
    }
    about = {"model_type": "baichuan", "architectures": ["PackedForCausalLM"], "vocab_size": 300, **sizes}
    (folder / "config.json").write_text(json.dumps(about | {"auto_map": auto, "tie_word_embeddings": False}))
    hidden, inner = sizes["hidden_size"], sizes["intermediate_size"]
    shapes = {
        "model.embed_tokens.weight": (300, hidden),
        "lm_head.weight": (300, hidden),
        "model.norm.weight": (hidden,),
    }
    for layer in range(sizes["num_hidden_layers"]):
        shapes |= {
            f"model.layers.{layer}.{name}.weight": shape
            for name, shape in {
                "self_attn.W_pack": (3 * hidden, hidden), "self_attn.o_proj": (hidden, hidden),
                "mlp.gate_proj": (inner, hidden), "mlp.up_proj": (inner, hidden), "mlp.down_proj": (hidden, inner),
                "input_layernorm": (hidden,), "post_attention_layernorm": (hidden,),
            }.items()
        }  # fmt: skip
    weights = {
        name: torch.randn(shape) * 0.2 if len(shape) > 1 else torch.ones(shape) for name, shape in shapes.items()
    }
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})


def gguf(folder: Path, out: Path) -> Path:
    """Write the model of a directory as a GGUF file, as llama.cpp's converter would."""
    import gguf
    from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer

    from haluagent.train.export import _as_llama_rotates

    about, words = AutoConfig.from_pretrained(folder), AutoTokenizer.from_pretrained(folder)
    writer = gguf.GGUFWriter(out, about.model_type)
    writer.add_block_count(about.num_hidden_layers)
    writer.add_context_length(32768)
    writer.add_embedding_length(about.hidden_size)
    writer.add_feed_forward_length(about.intermediate_size)
    writer.add_head_count(about.num_attention_heads)
    writer.add_head_count_kv(about.num_key_value_heads)
    head = getattr(about, "head_dim", None) or about.hidden_size // about.num_attention_heads
    writer.add_key_length(head)
    writer.add_value_length(head)
    writer.add_rope_dimension_count(head)
    writer.add_rope_freq_base(about.rope_parameters["rope_theta"])
    writer.add_layer_norm_rms_eps(about.rms_norm_eps)
    writer.add_vocab_size(about.vocab_size)
    tokens = [words.convert_ids_to_tokens(number) or f"[PAD{number}]" for number in range(about.vocab_size)]
    special = set(words.all_special_tokens) | {"<|im_start|>"}
    kinds = [5 if token.startswith("[PAD") else 3 if token in special else 1 for token in tokens]
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("gpt-2")
    writer.add_token_list(tokens)
    writer.add_token_types(kinds)
    writer.add_token_merges([" ".join(MERGE)])
    writer.add_eos_token_id(words.eos_token_id)
    writer.add_add_bos_token(False)
    writer.add_chat_template(TEMPLATE)
    known = {name: number for number, name in gguf.MODEL_ARCH_NAMES.items()}
    names = gguf.get_tensor_name_map(known[about.model_type], about.num_hidden_layers)
    for name, tensor in AutoModelForCausalLM.from_pretrained(folder).state_dict().items():
        module, _, kind = name.rpartition(".")
        matrix = tensor.float().numpy()
        if about.model_type == "llama":
            matrix = _as_llama_rotates(matrix, module, about)
        writer.add_tensor(f"{names.get_name(module)}.{kind}", matrix)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return out


def trajectory(number: int, label: str = "contradicted", reply: str = REPLY, sample: int = 0) -> records.Trajectory:
    """A detection of one turn and one scored choice, whose prompt all of them share but for a number."""
    task = f"The tower is {number} metres high. Check S1."
    messages = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": task}]
    calls = [
        {"prompt": "agent", "sentence": 1, "messages": messages, "reply": reply},
        {"prompt": "match", "messages": messages[1:], "reply": "B", "choices": ["A", "B"]},
    ]
    row = {
        "id": f"tower:{number}", "group": "tower", "source": "hand", "kind": "knowledge", "language": "en", "question": "?",
        "response": task, "gold": True, "teacher": "gold", "verdict": True, "labels": [label], "sample": sample, "calls": calls,
    }  # fmt: skip
    return records.parse(records.Trajectory, json.loads(json.dumps(row)), "here")


def trajectories(path: Path, count: int = 6) -> Path:
    """Write detections of one turn and one scored choice each."""
    records.write(path, [trajectory(number) for number in range(count)])
    return path
