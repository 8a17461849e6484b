"""A tokenizer that counts a model's tokens without asking the model.

It is built from the vocabulary in the model's GGUF file, so its ids are the engine's own.
"""

import base64
import binascii
import hashlib
import json
import os
import re
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from haluagent.errors import ConfigError
from haluagent.models.gguf import read_metadata

if TYPE_CHECKING:
    from tiktoken import Encoding

# The patterns that cut a text before byte pairs are merged, by the name in `tokenizer.ggml.pre`. The sources are the
# tokenizers' own patterns; for "smollm" and "default", the successive patterns of llama.cpp combined into one.
_SUFFIXES = r"'s|'t|'re|'ve|'m|'ll|'d"
PATTERNS = {
    "qwen2": rf"(?i:{_SUFFIXES})|[^\r\n\p{{L}}\p{{N}}]?\p{{L}}+|\p{{N}}| ?[^\s\p{{L}}\p{{N}}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+",
    "llama-bpe": rf"(?i:{_SUFFIXES})|[^\r\n\p{{L}}\p{{N}}]?\p{{L}}+|\p{{N}}{{1,3}}| ?[^\s\p{{L}}\p{{N}}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+",
    "gpt-2": rf"{_SUFFIXES}| ?\p{{L}}+| ?\p{{N}}+| ?[^\s\p{{L}}\p{{N}}]+|\s+(?!\S)|\s+",
    "smollm": rf"{_SUFFIXES}| ?\p{{L}}+|\p{{N}}| ?[^\s\p{{L}}\p{{N}}]+|\s+(?=\p{{N}})|\s+(?!\S)|\s+",
    "default": r"[\p{P}$+<=>^~|]+| ?\p{L}+|[0-9]{3}|(?:(?![0-9]{3})\p{N})+| ?[^\s\p{L}\p{N}\p{P}$+<=>^~|]+"
    r"|\s+(?=[\p{P}$+<=>^~|])|\s+(?!\S)|\s+",
}
NORMAL, CONTROL, USER_DEFINED = 1, 3, 4  # token types in `tokenizer.ggml.token_type`
CACHE_FORMAT = 1
CHUNK = 10_000  # characters


class UnknownVocabulary(ConfigError):
    """The file is complete, but its kind of tokenizer is not supported."""


@dataclass(frozen=True)
class Vocabulary:
    """The parts of an encoding: byte sequences by rank, and the tokens that stand for a whole string.

    `control` tokens (such as `<|im_end|>`) belong to the chat template; `user_defined` ones are recognised in any text.
    """

    pre: str
    ranks: dict[bytes, int]
    control: dict[str, int]
    user_defined: dict[str, int]


class Tokenizer:
    """Byte-pair encoding with a model's own vocabulary."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.vocabulary = vocabulary

    @classmethod
    def from_gguf(cls, path: Path, cache_dir: Path | None = None) -> "Tokenizer":
        """Build the tokenizer of a model file.

        With `cache_dir` the vocabulary is kept there, which makes the next start quicker; a damaged or outdated cache
        is rebuilt. Raise `ConfigError` if the file is not a complete GGUF file, `UnknownVocabulary` if its tokenizer is
        not one of the byte-pair ones named in `PATTERNS`.
        """
        path = Path(path)
        if cache_dir is None:
            return cls(read_vocabulary(path))
        cache = cache_dir / f"{_identity(path)}.tiktoken"
        vocabulary = load_cache(cache)
        if vocabulary is None:
            vocabulary = read_vocabulary(path)
            # A directory that cannot be written only makes the start slower.
            with suppress(OSError):
                save_cache(cache, vocabulary)
        return cls(vocabulary)

    @cached_property
    def _encoding(self) -> "Encoding":
        from tiktoken import Encoding

        return Encoding(
            "gguf",
            pat_str=PATTERNS[self.vocabulary.pre],
            mergeable_ranks=self.vocabulary.ranks,
            special_tokens=self.vocabulary.control | self.vocabulary.user_defined,
        )

    def encode(self, text: str) -> list[int]:
        """Return the token ids of ordinary text.

        A `<|im_end|>` in it is spelled out, as the engine does with `parse_special` off; only user-defined tokens,
        which the engine recognises in any text, are single tokens.
        """
        return self._encode(text, set(self.vocabulary.user_defined))

    def encode_prompt(self, text: str) -> list[int]:
        """Return the token ids of a rendered prompt, in which control tokens are single tokens."""
        return self._encode(text, set(self.vocabulary.control | self.vocabulary.user_defined))

    def _encode(self, text: str, allowed: set[str]) -> list[int]:
        try:
            return self._encoding.encode(text, allowed_special=allowed, disallowed_special=())
        except ValueError:
            # The regex engine gives up on a run of some hundred thousand spaces. Cut into chunks, such text has
            # a few more tokens than it has for the model.
            if len(text) <= CHUNK:
                raise
            chunks = (text[start : start + CHUNK] for start in range(0, len(text), CHUNK))
            return [token for chunk in chunks for token in self._encode(chunk, allowed)]

    def decode(self, ids: list[int]) -> str:
        """Return the text of token ids, with U+FFFD where they cut a character. Raise `KeyError` for an unknown id."""
        return self._encoding.decode(ids)

    def count(self, text: str) -> int:
        """Return the number of tokens of ordinary text."""
        return len(self.encode(text))


class ApproximateTokenizer:
    """A token counter for models whose vocabulary is unknown. It errs on the high side."""

    # Han, kana, Hangul, digits and ASCII punctuation: a token each in most vocabularies, or less.
    _SINGLE = re.compile("[!-@\\[-`{-~\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff]")

    def count(self, text: str) -> int:
        """Estimate the number of tokens of a text.

        Counts one for each Han character, kana, Hangul syllable, digit and ASCII punctuation mark, and one for every 3
        bytes of UTF-8 of the rest, rounded up. The estimate can be too low for a few rare characters or symbols, but
        not for a text.
        """
        rest, singles = self._SINGLE.subn("", text)
        return singles + -(-len(rest.encode("utf-8", "surrogatepass")) // 3)


def read_vocabulary(path: Path) -> Vocabulary:
    """Read the vocabulary from a GGUF file. Raise as `Tokenizer.from_gguf` does."""
    metadata = read_metadata(path, wanted=lambda key: key.startswith("tokenizer.ggml."))
    model = metadata.get("tokenizer.ggml.model")
    if model != "gpt2":
        raise UnknownVocabulary(f"{path} has a tokenizer of type {model!r}; use one with a byte-pair (gpt2) tokenizer")
    pre = metadata.get("tokenizer.ggml.pre", "default")
    if pre not in PATTERNS:
        raise UnknownVocabulary(f"{path} has the pre-tokenizer {pre!r}; use a model with one of {', '.join(PATTERNS)}")
    tokens, types = metadata.get("tokenizer.ggml.tokens"), metadata.get("tokenizer.ggml.token_type")
    if not isinstance(tokens, list) or not isinstance(types, list) or len(tokens) != len(types):
        raise ConfigError(f"{path} has no complete vocabulary (tokens and their types); download the model again")
    typed = [(token, kind, index) for index, (token, kind) in enumerate(zip(tokens, types, strict=True))]
    table = _byte_decoder()
    try:
        ranks = {bytes([table[char] for char in token]): i for token, kind, i in typed if kind == NORMAL and token}
    except KeyError as error:
        raise UnknownVocabulary(f"{path} has a token with {error}, which stands for no byte") from None
    if not all(bytes([byte]) in ranks for byte in range(256)):
        raise UnknownVocabulary(f"{path} has a vocabulary that cannot spell every byte")
    return Vocabulary(
        pre,
        ranks,
        control={token: i for token, kind, i in typed if kind == CONTROL},
        user_defined={token: i for token, kind, i in typed if kind == USER_DEFINED},
    )


def _byte_decoder() -> dict[str, int]:
    """Return GPT-2's alphabet as a map from characters to bytes: printable bytes stand for themselves, the others are
    characters from U+0100 on."""
    printing = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in printing]
    return {chr(byte): byte for byte in printing} | {chr(256 + n): byte for n, byte in enumerate(others)}


def _identity(path: Path) -> str:
    """Return a name for this version of a file: one that is replaced gets another name.

    Raise `ConfigError` if it is missing.
    """
    try:
        path = path.resolve()
        status = path.stat()
    except OSError as error:
        raise ConfigError(f"cannot read the model file {path}: {error.strerror}; check the path") from error
    return hashlib.sha256(f"{path}\0{status.st_size}\0{status.st_mtime_ns}".encode()).hexdigest()[:32]


def save_cache(path: Path, vocabulary: Vocabulary) -> None:
    """Write a vocabulary: a line of JSON, then tiktoken's own format (base64 and rank). Raise `OSError`."""
    body = b"".join(b"%s %d\n" % (base64.b64encode(token), rank) for token, rank in vocabulary.ranks.items())
    header = {
        "format": CACHE_FORMAT,
        "pre": vocabulary.pre,
        "control": vocabulary.control,
        "user_defined": vocabulary.user_defined,
        "sha256": hashlib.sha256(body).hexdigest(),
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    # Two processes may write at once, so each writes its own file and then moves it into place.
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=path.name)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(json.dumps(header).encode() + b"\n" + body)
        os.replace(name, path)
    except OSError:
        Path(name).unlink(missing_ok=True)
        raise


def load_cache(path: Path) -> Vocabulary | None:
    """Read the vocabulary that `save_cache` wrote; return None if the file is missing, damaged or of another format."""
    try:
        first, _, body = path.read_bytes().partition(b"\n")
        header = json.loads(first)
        if header["format"] != CACHE_FORMAT or header["sha256"] != hashlib.sha256(body).hexdigest():
            return None
        fields = body.split()
        ranks = dict(zip(map(binascii.a2b_base64, fields[::2]), map(int, fields[1::2]), strict=True))
        return Vocabulary(header["pre"], ranks, header["control"], header["user_defined"])
    except (OSError, ValueError, KeyError, TypeError):
        return None
