"""The NLI checker on a real cross-encoder, made here: it entails where claim and passage share the word "yes", contradicts
where the passage has "no", and is neutral elsewhere."""

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from haluagent import HaluAgent
from haluagent.checks.claims.check import check_claims, make_checker
from haluagent.checks.claims.nli import NLIChecker
from haluagent.checks.claims.records import ClaimReport
from haluagent.errors import ConfigError

onnx = pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")
tokenizers = pytest.importorskip("tokenizers")

E, N, C = "Entailment", "Neutral", "Contradiction"
WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "yes", "no"]
LIMIT = 32
CLASSES = ["CONTRADICTION", "entailment", "Neutral"]


def make_model(folder: Path, classes: list[str] | None = None, **config: Any) -> Path:
    """A model whose logits are counts: of "yes" for the class entailment, of "no" for contradiction, and 0.5 for neutral."""
    classes = CLASSES if classes is None else classes
    folder.mkdir(exist_ok=True)
    tokenizer = tokenizers.Tokenizer(
        tokenizers.models.WordLevel({word: n for n, word in enumerate(WORDS)}, unk_token="[UNK]")
    )
    tokenizer.normalizer = tokenizers.normalizers.Sequence(
        [tokenizers.normalizers.NFKC(), tokenizers.normalizers.Lowercase()]
    )
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = tokenizers.processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    tokenizer.save(str(folder / "tokenizer.json"))
    weight = {"entailment": 4, "contradiction": 5}
    table = np.zeros((len(WORDS), len(classes)), np.float32)
    for number, name in enumerate(classes):
        if name.lower() in weight:
            table[weight[name.lower()], number] = 4.0
    bias = np.array([2.0 if name.lower() == "neutral" else 0.0 for name in classes], np.float32)
    helper, constant = onnx.helper, onnx.numpy_helper.from_array
    graph = helper.make_graph(
        [
            helper.make_node("Gather", ["table", "input_ids"], ["each"]),
            helper.make_node("Cast", ["attention_mask"], ["seen"], to=onnx.TensorProto.FLOAT),
            helper.make_node("Unsqueeze", ["seen", "last"], ["mask"]),
            helper.make_node("Mul", ["each", "mask"], ["kept"]),
            helper.make_node("ReduceSum", ["kept", "middle"], ["sum"], keepdims=0),
            helper.make_node("Add", ["sum", "bias"], ["logits"]),
        ],
        "tiny",
        [
            helper.make_tensor_value_info(name, onnx.TensorProto.INT64, ["b", "t"])
            for name in ("input_ids", "attention_mask")
        ],
        [helper.make_tensor_value_info("logits", onnx.TensorProto.FLOAT, ["b", len(classes)])],
        [
            constant(table, "table"),
            constant(bias, "bias"),
            constant(np.array([2]), "last"),
            constant(np.array([1]), "middle"),
        ],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    (folder / "onnx").mkdir(exist_ok=True)
    onnx.save(model, str(folder / "onnx" / "model.onnx"))
    settings = {"id2label": {str(n): name for n, name in enumerate(classes)}, "max_position_embeddings": LIMIT} | config
    (folder / "config.json").write_text(json.dumps(settings))
    return folder


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return make_model(tmp_path / "nli")


def check(scripted: Any, model: Path, reference: Any, *claims: str) -> ClaimReport:
    endpoint = scripted()
    with HaluAgent(endpoint, sandbox="none", search="none") as agent:
        report = check_claims(
            agent, " ".join(claims), reference, claims=claims, checker=NLIChecker(model), language="en"
        )
    assert not endpoint.seen and report.usage.calls == 0
    for claim in report.claims:
        assert bool(claim.citations) == (claim.label in (E, C))
        for citation in claim.citations:
            assert report.passages[citation.passage][slice(*citation.span)] == citation.text
    return report


def test_a_model_in_any_order_of_classes_labels_claims(scripted: Any, tmp_path: Path) -> None:
    for number, classes in enumerate(
        (CLASSES, ["neutral", "Contradiction", "ENTAILMENT"], ["entailment", "neutral", "contradiction"])
    ):
        folder = make_model(tmp_path / str(number), classes)
        report = check(
            scripted,
            folder,
            ["The tower says yes.", "The bridge says no!", "The mill says nothing."],
            "The tower is red.",
        )
        assert [claim.label for claim in report.claims] == [E] and report.claims[0].checker == "nli"
        assert [citation.passage for citation in report.claims[0].citations] == [0]
        assert report.claims[0].probability == pytest.approx(np.exp(4) / (np.exp(4) + np.exp(2) + 1))
        assert report.coverage == 1.0
    assert check(scripted, folder, ["The bridge says no!", "The mill."], "The tower is red.").claims[0].label == C
    assert check(scripted, folder, "The mill says nothing.", "The tower is red.").claims[0].label == N


def test_a_long_passage_is_read_in_windows_that_overlap(scripted: Any, model: Path) -> None:
    passage = "🗼 " + "Ａ hall\r\nis old. " * 20 + "The tower of Osk, I say, yes. " + "Ａ house is new. " * 20
    report = check(scripted, model, passage, "The tower of Osk.")
    (citation,) = report.claims[0].citations
    assert (report.claims[0].label, citation.text) == (E, "The tower of Osk, I say, yes.")
    assert 0 < report.coverage < 1
    assert check(scripted, model, "The mill. " * 20, "The mill.").coverage == 1.0  # the windows leave nothing out


def test_a_hundred_thousand_characters_are_read_in_eight_windows(scripted: Any, model: Path) -> None:
    report = check(scripted, model, "A hall is old. " * 7000 + "The tower says no.", "The tower is red.")
    assert report.claims[0].label == C and report.claims[0].citations[0].text == "The tower says no."
    assert 0 < report.coverage < 0.01


def test_a_claim_too_long_for_the_model_has_no_label(scripted: Any, model: Path) -> None:
    report = check(scripted, model, "The tower says yes.", "very " * 40 + "old.", "The tower.")
    assert [claim.label for claim in report.claims] == [None, E] and report.verdict is None
    assert "too long for the NLI model, which reads 32 tokens" in (report.error or "")


def test_roberta_counts_its_positions_from_two(scripted: Any, tmp_path: Path) -> None:
    folder = make_model(tmp_path / "r", model_type="xlm-roberta", max_position_embeddings=LIMIT + 2)
    assert "32 tokens" in (check(scripted, folder, "yes", "very " * 40).error or "")


@pytest.mark.parametrize(
    "classes",
    [["entailment", "not_entailment"], ["LABEL_0", "LABEL_1", "LABEL_2"], ["entailment", "neutral", "neutral"]],
)
def test_other_classes_are_refused(scripted: Any, tmp_path: Path, classes: list[str]) -> None:
    with pytest.raises(ConfigError, match=f"classes {', '.join(classes)}; it takes entailment"):
        check(scripted, make_model(tmp_path / "two", classes), "yes", "yes")


def test_what_is_missing_is_named(scripted: Any, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ConfigError, match="there is no directory"):
        check(scripted, tmp_path / "nowhere", "yes", "yes")
    (model / "onnx" / "model.onnx").write_bytes(b"no model")
    with pytest.raises(ConfigError, match="cannot be read"):
        check(scripted, model, "yes", "yes")
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(ConfigError, match=r"haluagent\[nli\]"):
        check(scripted, model, "yes", "yes")
    monkeypatch.undo()
    (model / "config.json").unlink()
    with pytest.raises(ConfigError, match=r"has no config\.json"):
        check(scripted, model, "yes", "yes")
    (model / "onnx" / "model.onnx").unlink()
    with pytest.raises(ConfigError, match=r"no model\.onnx and no other weights"):
        check(scripted, model, "yes", "yes")
    (model / "model.safetensors").write_bytes(b"")
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    with pytest.raises(ConfigError, match=r"has no model\.onnx, and .*haluagent\[cross-encoder\]"):
        check(scripted, model, "yes", "yes")


def test_the_name_and_a_path_make_the_checker(model: Path) -> None:
    checker = make_checker("nli", str(model))
    assert isinstance(checker, NLIChecker) and not checker.asks_model
    assert asyncio.iscoroutinefunction(checker.check)
