"""A tokenizer from a model file, and windows of a bounded number of tokens."""

import json
import struct
import urllib.request
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from haluagent.errors import ConfigError
from haluagent.models import EmbeddedModel
from haluagent.models.gguf import read_metadata
from haluagent.models.tokenizer import PATTERNS, ApproximateTokenizer, Tokenizer, load_cache
from haluagent.text.windows import windows

TEXTS = [
    "hello world",
    "Hello, World!",
    " The capital of France is Paris.",
    "It's 3.14, isn't it? I'LL",
    "2023年10月1日",
    "你好，世界！",
    "今天天气很好，我们去公园玩吧。",
    "他说：“你好。”",
    "《红楼梦》的作者是曹雪芹。",
    "Python的GIL是什么?",
    "😀",
    "👨\u200d👩\u200d👧\u200d👦 family",
    "🇨🇳🇺🇸",
    "é è ü ñ",
    "e\u0301",
    "日本語のテキスト",
    "한국어 텍스트",
    "Привет мир",
    "مرحبا",
    "１２３ＡＢＣ",
    "①②③",
    "½ ²",
    "$5.00 €3",
    "a\tb",
    "a\u00a0b",
    "\u3000\u3000全角",
    "…… —— ～",
    "<b>html</b>",
    '{"a": [1, 2]}',
    "```py",
    "SELECT * FROM t;",
    "https://a.b/c?d=e&f=g",
    "x = \\frac{1}{2}",
    "∑∫√≈",
    "aaaaaaaaaaaaaaaa",
    "    indented",
    "trailing   ",
    "don’t",
    "Mr. O'Neil'S",
    "THOUGHT: x ACTION: calculator(sentence=S1)",
    "思考：需要计算。行为：calculator(sentence=S1)",
    "𠮷野家",
    "龘靐",
    "\u200b\u200d",
    "1234567890",
    "!!!???",
    "__init__",
    "CamelCaseString",
    "<",
    "im_start",
    ">user",
    "<tool_call>x</tool_call>",
    "# 标题",
    "",
    "a\n \n b\r\n\r\n",
    "def f(x):\n    return x**2\n",
    "for i in range(10):\n\tprint(i)\r\n",
    "<|im_start|>user\nhi<|im_end|>",
    "a <|endoftext|> b",
]


def gguf_string(text: str) -> bytes:
    return struct.pack("<Q", len(text.encode())) + text.encode()


def gguf(metadata: dict[str, Any]) -> bytes:
    """A GGUF header with strings, integers, lists of strings and lists of integers."""
    data = b"GGUF" + struct.pack("<IQQ", 3, 0, len(metadata))
    for key, value in metadata.items():
        data += gguf_string(key)
        if isinstance(value, str):
            data += struct.pack("<I", 8) + gguf_string(value)
        elif isinstance(value, int):
            data += struct.pack("<Ii", 5, value)
        elif value and isinstance(value[0], str):
            data += struct.pack("<IIQ", 9, 8, len(value)) + b"".join(map(gguf_string, value))
        else:
            data += struct.pack(f"<IIQ{len(value)}i", 9, 5, len(value), *value)
    return data


def byte_alphabet() -> list[str]:
    printing = [*range(33, 127), *range(161, 173), *range(174, 256)]
    return [chr(byte) for byte in printing] + [chr(256 + n) for n in range(256 - len(printing))]


def vocabulary(**changes: Any) -> dict[str, Any]:
    """All bytes, five merges, a control token and a user-defined one."""
    merged = ["he", "ll", "llo", "hello", "Ġhello"]
    tokens = [*byte_alphabet(), *merged, "<|end|>", "<tool>", "[UNUSED]"]
    types = [1] * (256 + len(merged)) + [3, 4, 5]
    return {
        "tokenizer.ggml.model": "gpt2",
        "tokenizer.ggml.pre": "qwen2",
        "general.size": 7,
        "tokenizer.ggml.tokens": tokens,
        "tokenizer.ggml.token_type": types,
    } | changes


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "tiny.gguf"
    path.write_bytes(gguf(vocabulary()))
    return path


def test_metadata(model: Path) -> None:
    metadata = read_metadata(model)
    assert metadata == vocabulary()
    assert read_metadata(model, wanted=lambda key: key == "general.size") == {"general.size": 7}


def test_every_truncation_of_the_header_is_refused(tmp_path: Path) -> None:
    data = gguf({"a": "text", "b": 3, "c": ["x", "y"], "d": [1, 2]})
    path = tmp_path / "cut.gguf"
    for size in range(len(data)):
        path.write_bytes(data[:size])
        with pytest.raises(ConfigError, match=r"cut\.gguf"):
            read_metadata(path)


@pytest.mark.parametrize(
    "data",
    [
        b"PK\x03\x04 something else",
        b"GGUF" + struct.pack("<IQQ", 1, 0, 0),
        b"GGUF" + struct.pack("<IQQ", 3, 0, 2**60),
        b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + gguf_string("a") + struct.pack("<I", 99),
        b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + gguf_string("a") + struct.pack("<IIQ", 9, 8, 2**62) + b"x" * 64,
        b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + gguf_string("a") + struct.pack("<IIQ", 9, 9, 1) * 5000,
    ],
)
def test_damage_is_refused(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "bad.gguf"
    path.write_bytes(data)
    with pytest.raises(ConfigError, match=r"bad\.gguf"):
        read_metadata(path)


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    for cache in (None, tmp_path / "cache"):
        with pytest.raises(ConfigError, match=r"none\.gguf"):
            Tokenizer.from_gguf(tmp_path / "none.gguf", cache)


def test_ids_and_text(model: Path) -> None:
    tokenizer = Tokenizer.from_gguf(model)
    assert tokenizer.encode("hello hello") == [259, 260]
    assert tokenizer.count("hello hello") == 2
    assert tokenizer.decode([259, 260]) == "hello hello"
    assert tokenizer.decode(tokenizer.encode("\u3042\ud83d\ude00")) == "\u3042😀"
    with pytest.raises(KeyError):
        tokenizer.decode([10_000])


def test_control_tokens_count_only_in_prompts(model: Path) -> None:
    tokenizer = Tokenizer.from_gguf(model)
    assert tokenizer.encode_prompt("hello<|end|><tool>") == [259, 261, 262]
    spelled = tokenizer.encode("hello<|end|><tool>")
    assert 261 not in spelled and spelled[-1] == 262
    assert tokenizer.decode(spelled) == "hello<|end|><tool>"
    assert 263 not in tokenizer.encode_prompt("[UNUSED]")


@settings(deadline=None)
@given(st.text())
def test_every_text_comes_back(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    path = tmp_path_factory.getbasetemp() / "round.gguf"
    if not path.exists():
        path.write_bytes(gguf(vocabulary()))
    tokenizer = Tokenizer.from_gguf(path, path.parent / "cache")
    assert tokenizer.decode(tokenizer.encode(text)) == text


def test_a_huge_run_of_spaces_is_counted(model: Path) -> None:
    assert Tokenizer.from_gguf(model).count(" " * 400_000 + "hello") >= 400_000


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"tokenizer.ggml.model": "llama"}, "'llama'"),
        ({"tokenizer.ggml.pre": "deepseek-v9"}, "'deepseek-v9'"),
        ({"tokenizer.ggml.token_type": [1, 1]}, "no complete vocabulary"),
        ({"tokenizer.ggml.tokens": ["a"], "tokenizer.ggml.token_type": [1]}, "every byte"),
        ({"tokenizer.ggml.tokens": ["你"], "tokenizer.ggml.token_type": [1]}, "stands for no byte"),
    ],
)
def test_other_tokenizers_are_refused(tmp_path: Path, changes: dict[str, Any], named: str) -> None:
    path = tmp_path / "other.gguf"
    path.write_bytes(gguf(vocabulary(**changes)))
    with pytest.raises(ConfigError, match=named):
        Tokenizer.from_gguf(path)


@pytest.mark.parametrize("changes", [{"tokenizer.ggml.model": "llama"}, {"tokenizer.ggml.pre": "deepseek-v9"}])
def test_the_embedded_model_estimates_where_it_cannot_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, changes: dict[str, Any]
) -> None:
    monkeypatch.setenv("HALUAGENT_CACHE", str(tmp_path / "cache"))
    path = tmp_path / "other.gguf"
    path.write_bytes(gguf(vocabulary(**changes)))
    assert EmbeddedModel(str(path)).count_tokens("你好") == 2


@pytest.mark.parametrize("damage", [{"tokenizer.ggml.token_type": [1, 1]}, None])
def test_the_embedded_model_refuses_a_damaged_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, damage: dict[str, Any] | None
) -> None:
    monkeypatch.setenv("HALUAGENT_CACHE", str(tmp_path / "cache"))
    path = tmp_path / "bad.gguf"
    path.write_bytes(gguf(vocabulary())[:200] if damage is None else gguf(vocabulary(**damage)))
    with pytest.raises(ConfigError, match=r"bad\.gguf"):
        EmbeddedModel(str(path)).count_tokens("hello")


@pytest.mark.parametrize(
    ("pre", "pieces"),
    [
        ("qwen2", ["a", "  ", " b", " ", "1", "2", "3", "4", "."]),
        ("llama-bpe", ["a", "  ", " b", " ", "123", "4", "."]),
        ("gpt-2", ["a", "  ", " b", " 1234", "."]),
        ("smollm", ["a", "  ", " b", " ", "1", "2", "3", "4", "."]),
        ("default", ["a", "  ", " b", " ", "123", "4", "."]),
    ],
)
def test_where_each_pattern_cuts(pre: str, pieces: list[str]) -> None:
    """With every piece a token of its own, the tokens are the pieces."""
    from tiktoken import Encoding

    text = "".join(pieces)
    parts = {text[a:b].encode() for a in range(len(text)) for b in range(a + 1, len(text) + 1)}
    ranks = {part: rank for rank, part in enumerate(sorted(parts, key=len))}
    encoding = Encoding("test", pat_str=PATTERNS[pre], mergeable_ranks=ranks, special_tokens={})
    assert [encoding.decode([token]) for token in encoding.encode(text)] == pieces


def test_the_cache_is_used_and_rebuilt(model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache = tmp_path / "cache"
    first = Tokenizer.from_gguf(model, cache).vocabulary
    (file,) = cache.iterdir()
    assert load_cache(file) == first
    whole = file.read_bytes()
    for damaged in (b"", b"{}\n", whole[:-5], whole.replace(b"qwen2", b"gpt-9").replace(b"AA==", b"AQ==")):
        file.write_bytes(damaged)
        assert Tokenizer.from_gguf(model, cache).vocabulary == first
        assert file.read_bytes() == whole
    with monkeypatch.context() as patch:
        patch.setattr("haluagent.models.tokenizer.read_vocabulary", lambda path: pytest.fail("the cache was not used"))
        assert Tokenizer.from_gguf(model, cache).vocabulary == first
    model.write_bytes(gguf(vocabulary(**{"tokenizer.ggml.pre": "llama-bpe"})))
    assert Tokenizer.from_gguf(model, cache).vocabulary.pre == "llama-bpe"


def test_a_cache_that_cannot_be_written_is_no_error(model: Path, tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("not a directory")
    assert Tokenizer.from_gguf(model, blocked / "cache").count("hello") == 1


def words(text: str) -> int:
    return len(text.split())


def test_a_text_that_fits_is_one_window() -> None:
    assert windows("One two. Three.", 3, words) == [(0, 15)]
    assert windows("", 3, words) == []


def test_windows_end_where_sentences_end() -> None:
    text = "One two three. Four five. Six.\n\nSeven eight nine ten. 你好。"
    assert [text[a:b] for a, b in windows(text, 5, words)] == [
        "One two three. Four five. ",
        "Six.\n\nSeven eight nine ten. ",
        "你好。",
    ]


def test_only_a_long_piece_is_cut_within() -> None:
    text = "Short one. " + "word " * 10 + "end. Last one."
    parts = [text[a:b] for a, b in windows(text, 4, words)]
    assert parts[0] == "Short one. " and parts[-1].endswith("Last one.")
    assert "".join(parts) == text


@pytest.mark.parametrize("limit", [0, -1])
def test_windows_refuse_a_limit_that_makes_no_sense(limit: int) -> None:
    with pytest.raises(ValueError):
        windows("a", limit, words)


@settings(deadline=None)
@given(
    st.lists(st.sampled_from(["word ", "Go. ", "你好", "。", "\n", "\n\n", " ", "longword", "! "])).map("".join),
    st.integers(1, 12),
)
def test_windows_cover_the_text_and_keep_the_limit(text: str, limit: int) -> None:
    spans = windows(text, limit, len)
    assert all(0 < b - a <= limit for a, b in spans)
    assert "".join(text[a:b] for a, b in spans) == text


@pytest.mark.parametrize("text", ["好的。" * 30_000, "啊" * 100_000, "x=1 " * 25_000, "\n" * 100_000])
def test_windows_count_a_long_text_a_few_times_only(text: str) -> None:
    counted = 0

    def count(part: str) -> int:
        nonlocal counted
        counted += len(part)
        return len(part)

    assert len(windows(text, 500, count)) < 1.5 * len(text) / 500
    assert counted < 6 * len(text)


def test_the_approximation_by_hand() -> None:
    count = ApproximateTokenizer().count
    assert [count(text) for text in ("", "你好", "2023", "abcdef", "abcd", "a, b")] == [0, 2, 4, 2, 2, 2]
    assert count("\ud800") == 1


def post(url: str, body: dict[str, Any], key: str) -> dict[str, Any]:
    headers = {"Content-Type": "application/json", "Authorization": f"Bearer {key}"}
    request = urllib.request.Request(url, json.dumps(body).encode(), headers)
    with urllib.request.urlopen(request, timeout=30) as answer:
        reply: dict[str, Any] = json.load(answer)
    return reply


@pytest.mark.engine
def test_ids_are_the_engines(model_path: Path, engine_model: Any) -> None:
    tokenizer = Tokenizer.from_gguf(model_path)
    engine, key = engine_model.base_url.removesuffix("/v1"), engine_model.api_key
    assert len(TEXTS) > 55
    for text in TEXTS:
        ordinary = post(f"{engine}/tokenize", {"content": text, "parse_special": False}, key)
        assert tokenizer.encode(text) == ordinary["tokens"], text
        prompt = post(f"{engine}/tokenize", {"content": text, "parse_special": True}, key)
        assert tokenizer.encode_prompt(text) == prompt["tokens"], text


@pytest.mark.engine
def test_the_approximation_errs_towards_too_many(model_path: Path) -> None:
    tokenizer, approximate = Tokenizer.from_gguf(model_path), ApproximateTokenizer()
    texts = [
        "The capital of France is Paris, which lies on the Seine and has about 2.1 million inhabitants. " * 3,
        "法国的首都是巴黎，位于塞纳河畔，人口约210万。" * 3,
        "def area(r: float) -> float:\n    return 3.14 * r ** 2\n\nprint(area(2))\n",
        '{"name": "Paris", "population": 2102650, "rivers": ["Seine"]}',
        "他用 Python 3.11 写了 a parser，然后运行 `pytest -q`。",
    ]
    for text in texts:
        assert tokenizer.count(text) <= approximate.count(text) <= 3 * tokenizer.count(text), text


@pytest.mark.engine
def test_the_cached_vocabulary_is_the_models(model_path: Path, tmp_path: Path) -> None:
    first = Tokenizer.from_gguf(model_path, tmp_path)
    again = Tokenizer.from_gguf(model_path, tmp_path)
    assert again.vocabulary == first.vocabulary == Tokenizer.from_gguf(model_path).vocabulary
    assert again.encode("你好，world 😀") == first.encode("你好，world 😀")
