"""Judges with weights of their own: random models of the same architectures, made here, read as the real ones are."""

import asyncio
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from haluagent.bench.datasets.items import Item
from haluagent.bench.methods.grounded import NO_REFERENCE
from haluagent.bench.methods.registry import NEEDS_REFERENCE
from haluagent.bench.methods.small_judges import SMALL_JUDGES, load
from haluagent.bench.rows import Row, read
from haluagent.cli.main import app
from haluagent.errors import ConfigError, ModelError

HALF = "The tower is red . "
ITEM = Item(
    id="1", question="what ?", response="It is red. It is high.", reference=HALF * 4, language="en", wrong=False
)
T5 = {"d_model": 32, "d_kv": 8, "d_ff": 32, "num_layers": 2, "num_heads": 4, "feed_forward_proj": "gated-gelu"}


def save_tokenizer(folder: Path) -> Any:
    """Single characters, with the marks of T5 and ModernBERT."""
    from tokenizers import Regex, Tokenizer, models, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast

    marks = ["<pad>", "</s>", "[CLS]", "[SEP]", "<unk>"]
    letters = [chr(number) for number in range(32, 127)] + ["\n"]
    words = Tokenizer(models.WordLevel({word: number for number, word in enumerate(marks + letters)}, "<unk>"))
    words.pre_tokenizer = pre_tokenizers.Split(Regex(r"[\s\S]"), "isolated")
    words.post_processor = processors.TemplateProcessing(
        single="$A </s>", pair="[CLS] $A [SEP] $B [SEP]", special_tokens=[("</s>", 1), ("[CLS]", 2), ("[SEP]", 3)]
    )
    made = PreTrainedTokenizerFast(
        tokenizer_object=words, pad_token="<pad>", eos_token="</s>", unk_token="<unk>",
        model_input_names=["input_ids", "attention_mask"],
    )  # fmt: skip
    made.save_pretrained(folder)
    return made


def minicheck(folder: Path) -> Path:
    import transformers

    config = transformers.T5Config(vocab_size=300, initializer_factor=3.0, tie_word_embeddings=False, **T5)
    model = transformers.T5ForConditionalGeneration(config)
    model.lm_head.weight.data *= 0.1  # so that no probability is 0 or 1
    model.save_pretrained(folder)
    save_tokenizer(folder)
    return folder


def hhem(folder: Path) -> Path:
    """As published: the weights under the names of its own code, and the name of another model."""
    import transformers
    from safetensors.torch import save_file

    config = transformers.T5Config(vocab_size=300, **T5)
    config.save_pretrained(folder / "foundation")
    save_tokenizer(folder / "foundation")
    weights = transformers.T5ForTokenClassification(config).state_dict()
    weights.pop("transformer.encoder.embed_tokens.weight")  # the same as `shared`
    save_file(
        {f"t5.{name}": one.clone() for name, one in weights.items()}, folder / "model.safetensors", {"format": "pt"}
    )
    about = {"model_type": "HHEMv2Config", "foundation": str(folder / "foundation")}
    about["auto_map"] = {"AutoConfig": "configuration_hhem_v2.HHEMv2Config"}  # type: ignore[assignment]
    (folder / "config.json").write_text(json.dumps(about))
    (folder / "configuration_hhem_v2.py").write_text("raise SystemExit('code that came with the weights was run')")
    return folder


def lettucedetect(folder: Path, classes: int = 2) -> Path:
    import transformers

    config = transformers.ModernBertConfig(
        vocab_size=300, hidden_size=32, intermediate_size=32, num_hidden_layers=2, num_attention_heads=4, num_labels=classes,
        pad_token_id=0, bos_token_id=2, eos_token_id=3, cls_token_id=2, sep_token_id=3, initializer_range=0.5,
    )  # fmt: skip
    transformers.ModernBertForTokenClassification(config).save_pretrained(folder)
    save_tokenizer(folder)
    return folder


MAKE: dict[str, Callable[[Path], Path]] = {"minicheck": minicheck, "hhem": hhem, "lettucedetect": lettucedetect}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    import torch

    torch.manual_seed(1)
    folders = {name: tmp_path_factory.mktemp(name) for name in MAKE}
    return {name: make(folders[name]) for name, make in MAKE.items()}


def judge(name: str, folder: Path, item: Item = ITEM) -> Row:
    (method,) = load([f"{name}={folder}"]).values()
    return asyncio.run(method(None, item, "tower"))  # type: ignore[arg-type]


def changed(**parts: str | None) -> Item:
    return ITEM.model_copy(update=parts)


def ids(folder: Path, text: str, *pair: str) -> Any:
    """The tokens of a text, as the tokenizer in the folder gives them."""
    from transformers import AutoTokenizer

    return AutoTokenizer.from_pretrained(folder)(text, *pair, return_tensors="pt")["input_ids"]


@pytest.mark.train
def test_minicheck_takes_the_best_chunk_of_each_sentence_and_the_worst_sentence(made: dict[str, Path]) -> None:
    import torch
    from transformers import T5ForConditionalGeneration

    folder = made["minicheck"]
    model = T5ForConditionalGeneration.from_pretrained(folder).eval()
    first, second = "red " * 499 + "red.", "high " * 399 + "high."

    def support(chunk: str, sentence: str) -> float:
        prompt = ids(folder, f"predict: {chunk}</s>{sentence}")
        with torch.inference_mode():
            logits = model(input_ids=prompt, decoder_input_ids=torch.tensor([[0]])).logits[0, 0]
        return float(1 / (1 + (logits[3] - logits[209]).exp()))

    chunks, sentences = (first, second), ("It is red.", "It is high.")
    found = judge("minicheck", folder, changed(reference="\n".join(chunks)))
    table = [[support(chunk, sentence) for chunk in chunks] for sentence in sentences]
    assert len({round(one, 4) for row in table for one in row}) == 4
    assert found.score == pytest.approx(1 - min(max(row) for row in table), abs=1e-5)
    assert found.verdict is (found.score >= 0.5) and found.error is None
    assert found.usage.calls == 0 and found.seconds > 0


@pytest.mark.train
def test_minicheck_cuts_a_text_without_spaces_too(made: dict[str, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    from transformers import T5ForConditionalGeneration

    lengths = []
    forward = T5ForConditionalGeneration.forward

    def seen(model: Any, **given: Any) -> Any:
        lengths.append(given["input_ids"].shape[1])
        return forward(model, **given)

    monkeypatch.setattr(T5ForConditionalGeneration, "forward", seen)
    assert judge("minicheck", made["minicheck"], changed(reference="塔是红色的。" * 600)).error is None
    assert len(lengths) == 2 * 2 and max(lengths) < 2100, "two sentences beside two chunks"


@pytest.mark.train
def test_hhem_reads_the_first_token_and_runs_no_code_of_the_weights(made: dict[str, Path]) -> None:
    import torch
    from safetensors.torch import load_file
    from transformers import AutoConfig, T5ForTokenClassification

    folder = made["hhem"]
    model = T5ForTokenClassification(AutoConfig.from_pretrained(folder / "foundation")).eval()
    model.load_state_dict(
        {name[3:]: one for name, one in load_file(folder / "model.safetensors").items()}, strict=False
    )
    prompt = ids(
        folder / "foundation",
        "<pad> Determine if the hypothesis is true given the premise?\n\n"
        f"Premise: {ITEM.reference}\n\nHypothesis: {ITEM.response}",
    )
    assert prompt[0, 0] == 0  # the mark, not its letters
    with torch.inference_mode():
        consistent = float(model(input_ids=prompt).logits[0, 0].softmax(-1)[1])
    found = judge("hhem", folder)
    assert found.score == pytest.approx(1 - consistent, abs=1e-5) and found.verdict is (consistent <= 0.5)


@pytest.mark.train
@pytest.mark.parametrize("question", ["what ?", ""])
def test_lettucedetect_takes_the_worst_token_of_the_response(made: dict[str, Path], question: str) -> None:
    import torch
    from transformers import AutoModelForTokenClassification

    folder = made["lettucedetect"]
    asked = (
        "Briefly answer the following question:\nwhat ?\nBear in mind that your response should be strictly based on the "
        "following 1 passages:\npassage 1: {}\nIn case the passages do not contain the necessary information to answer the "
        'question, please reply with: "Unable to answer based on given passages."\noutput:'
    )
    task = asked if question else "Summarize the following text:\npassage 1: {}\noutput:"
    prompt = ids(folder, task.format(ITEM.reference), ITEM.response)
    with torch.inference_mode():
        shares = AutoModelForTokenClassification.from_pretrained(folder).eval()(input_ids=prompt).logits[0].softmax(-1)
    wrong = shares[-len(ITEM.response) - 1 : -1, 1]
    found = judge("lettucedetect", folder, changed(question=question))
    assert found.score == pytest.approx(float(wrong.max()), abs=1e-5) and found.verdict is (found.score >= 0.5)


@pytest.mark.train
def test_lettucedetect_reads_the_whole_response_beside_a_long_reference(made: dict[str, Path]) -> None:
    long = judge("lettucedetect", made["lettucedetect"], changed(reference="red " * 2000))
    longer = judge("lettucedetect", made["lettucedetect"], changed(reference="red " * 3000))
    assert long.error is None and long.score == longer.score


@pytest.mark.train
def test_lettucedetect_refuses_a_response_longer_than_it_reads(made: dict[str, Path]) -> None:
    with pytest.raises(ModelError, match="the response is longer than the 4,096 tokens that LettuceDetect reads"):
        judge("lettucedetect", made["lettucedetect"], changed(response="red " * 5000))


@pytest.mark.train
@pytest.mark.parametrize("name", SMALL_JUDGES)
def test_an_item_that_cannot_be_judged(name: str, made: dict[str, Path]) -> None:
    assert name in NEEDS_REFERENCE
    assert judge(name, made[name], changed(reference=None)).error == NO_REFERENCE
    for nothing in (" ", "👍"):
        assert judge(name, made[name], changed(response=nothing)).error == "the response has no sentence"


@pytest.mark.train
def test_weights_of_another_model_are_refused(made: dict[str, Path], tmp_path: Path) -> None:
    import transformers

    transformers.T5ForTokenClassification(transformers.T5Config(vocab_size=300, **T5)).save_pretrained(tmp_path / "t5")
    save_tokenizer(tmp_path / "t5")
    with pytest.raises(ConfigError, match="holds another model than minicheck"):
        load([f"minicheck={tmp_path / 't5'}"])
    with pytest.raises(ConfigError, match=r"the weights of hhem in .* cannot be read .*names no foundation"):
        load([f"hhem={made['minicheck']}"])
    with pytest.raises(ConfigError, match="holds another model than lettucedetect"):
        load([f"lettucedetect={lettucedetect(tmp_path, 3)}"])


@pytest.mark.train
def test_the_command_runs_them_beside_the_agent(made: dict[str, Path], endpoint: Any, tmp_path: Path) -> None:
    rows = [{"question": "Where?", "answer": "In Rome.", "knowledge": "It was.", "judge": n % 2} for n in range(2)]
    (tmp_path / "halueval_qa.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    out = tmp_path / "run.jsonl"
    command = [
        "bench",
        "compare",
        "--datasets",
        "halueval_qa",
        "--data",
        str(tmp_path),
        "--out",
        str(out),
        "--peers",
        "hhem",
    ]
    command += ["--base-url", endpoint.base_url, "--sandbox", "none"]
    command += [part for name, folder in made.items() for part in ("--weights", f"{name}={folder}")]
    call = CliRunner().invoke(app, command)
    assert call.exit_code == 0, call.output
    found = read(out)[1]
    labels = {f"{name}:{folder.name}" for name, folder in made.items()}
    assert {row.method for row in found} == {"haluagent", "prompt", *labels} and len(found) == 10
    assert all(row.error is None and row.verdict is not None for row in found if row.method in labels)


@pytest.mark.train
def test_claims_are_judged_by_them_too(made: dict[str, Path], endpoint: Any, tmp_path: Path) -> None:
    rows = [
        {"id": n, "language": "en", "question": "", "claim": f"It is {n}.", "text": "It is 1.", "wrong": n != 1}
        for n in range(4)
    ]
    (tmp_path / "first.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    out = tmp_path / "run.jsonl"
    command = ["bench", "judge", "--data", str(tmp_path), "--out", str(out), "--base-url", endpoint.base_url]
    call = CliRunner().invoke(app, [*command, "--weights", f"hhem={made['hhem']}"])
    assert call.exit_code == 0, call.output
    assert {row.method for row in read(out)[1]} == {"match", f"hhem:{made['hhem'].name}"}


@pytest.mark.parametrize(
    ("given", "why"),
    [
        (["oracle=x/y"], "write NAME=PATH, each once; the names are minicheck, hhem, lettucedetect"),
        (["hhem"], "write NAME=PATH"),
        (["hhem=a/b", "hhem=a/b"], "write NAME=PATH"),
        (["hhem=/no/such/directory"], "there is no directory /no/such/directory"),
        (["hhem=./directory"], "there is no directory ./directory"),
    ],
)
def test_what_is_wrong_with_the_option_is_said(given: list[str], why: str) -> None:
    with pytest.raises(ConfigError, match=why):
        load(given)


def test_without_torch_the_extra_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(ConfigError, match=r"minicheck needs torch and transformers: pip install .*cross-encoder"):
        load([f"minicheck={tmp_path}"])


def test_without_their_weights_they_are_not_run(endpoint: Any, tmp_path: Path) -> None:
    command = ["bench", "compare", "--datasets", "halueval_qa", "--out", str(tmp_path / "run.jsonl")]
    call = CliRunner().invoke(app, [*command, "--peers", "minicheck", "--base-url", endpoint.base_url])
    assert "minicheck has weights of its own: give --weights minicheck=PATH" in str(call.exception)
