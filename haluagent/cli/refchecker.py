"""The options of `refchecker-cli` as `haluagent claims` takes them (RefChecker 0.1 and 0.2; Hu et al. 2024).

Those that differ in nothing but their underscores are declared with the commands. Here are the others: a model's name stands where
this package has a way of checking and an endpoint, and keys stand in files.
"""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import typer
from typer.core import TyperCommand

from haluagent.errors import ConfigError

CHECKERS = ("choice", "joint", "nli")
MISSING = ("alignscore", "repc")
NO_EFFECT = (
    "--cache_dir", "--batch_size_extractor", "--batch_size_checker", "--extractor_max_new_tokens", "--extractor_ngpus",
    "--nli_device", "--repc_classifier_name",
)  # fmt: skip
REFUSED = {
    "--anthropic_key": "name an OpenAI-compatible endpoint with --base-url instead",
    "--aws_bedrock_region": "name an OpenAI-compatible endpoint with --base-url instead",
    "--local_llm_checkpoint_path": "serve the checkpoint, and name the endpoint with --extractor_api_base",
}
FLAGS = ("--use_retriever", "--use_retrieval")
KEYS = {"--openai_key": "HALUAGENT_API_KEY", "--serper_api_key": "SERPER_API_KEY"}
_WITH_VALUE = (
    "--extractor_name", "--checker_name", "--extractor_api_base", "--checker_api_base", "--retriever_name",
    *NO_EFFECT, *REFUSED, *KEYS,
)  # fmt: skip


class RefCheckerCommand(TyperCommand):
    """A command that takes RefChecker's options too."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        known, rest = taken(args)
        for name in NO_EFFECT:
            if name in known:
                typer.echo(f"{name} has no effect here", err=True)
        os.environ.update({KEYS[name]: _key(name, known[name]) for name in KEYS if name in known})
        return super().parse_args(ctx, [*rest, *translated(self.name or "", known, rest)])


def taken(arguments: Sequence[str]) -> tuple[dict[str, str], list[str]]:
    """Return RefChecker's options with their values, and all other arguments. Raise `ConfigError` if a value is missing."""
    known, rest = {}, []
    given = iter(arguments)
    for argument in given:
        name, equals, value = argument.partition("=")
        if name in FLAGS and not equals:
            known[name] = ""
        elif name in _WITH_VALUE:
            found = value if equals else next(given, None)
            if found is None:
                raise ConfigError(f"{name} needs a value")
            known[name] = found
        else:
            rest.append(argument)
    return known, rest


def translated(command: str, known: Mapping[str, str], rest: Sequence[str]) -> list[str]:
    """Return what RefChecker's options mean for a command, beside the `rest` of its arguments.

    A checker's name is one of this package's ways to check, or a model; with an extractor's name claims are triplets unless a
    format is given. Raise `ConfigError` for what has no meaning here.
    """
    for name, why in REFUSED.items():
        if name in known:
            raise ConfigError(f"{name} has no meaning here: {why}")
    if known.get("--retriever_name", "google") != "google":
        raise ConfigError(f"--retriever_name {known['--retriever_name']} is not known: use google, or --search NAME")
    said = _checker(command, known)
    if command != "check" and "--extractor_name" in known and not _given(rest, "--claim-format", "--claim_format"):
        said += ["--claim-format", "triplet"]
    said += _model(command, known, rest)
    if "--serper_api_key" in known and not _given(rest, "--search"):
        said += ["--search", "serper"]
    return said


def _checker(command: str, known: Mapping[str, str]) -> list[str]:
    name = known.get("--checker_name")
    if name in MISSING and command != "extract":
        raise ConfigError(
            f"--checker_name {name} is not here: use {', '.join(CHECKERS)}, or the name of a served model"
        )
    return ["--checker", name] if name in CHECKERS else []


def _model(command: str, known: Mapping[str, str], rest: Sequence[str]) -> list[str]:
    """Return the options of the one model of a command, and of its endpoint."""
    parts = {"extract": ("extractor",), "check": ("checker",)}.get(command, ("extractor", "checker"))
    names = {part: known.get(f"--{part}_name", "") for part in parts}
    asked = {part: name for part, name in names.items() if name and name not in CHECKERS}
    bases = {known[f"--{part}_api_base"] for part in parts if f"--{part}_api_base" in known}
    if len(set(asked.values())) > 1 or len(bases) > 1:
        raise ConfigError(
            "one model extracts and checks: run `claims extract` with the one, then `claims check` with the other"
        )
    said = [one for base in bases for one in ("--base-url", base)]
    for name in set(asked.values()):
        option = f"--{next(iter(asked))}"
        if not said and not _given(rest, "--base-url", "--endpoint") and not _endpoint_is_set():
            raise ConfigError(
                f"{option}_name {name} is a model: name the endpoint that serves it with {option}_api_base"
            )
        said += ["--model", name.removeprefix("openai/")]
    return said


def _endpoint_is_set() -> bool:
    from haluagent.settings import read_settings

    return bool(os.environ.get("HALUAGENT_BASE_URL") or read_settings().base_url)


def _given(arguments: Sequence[str], *names: str) -> bool:
    return any(argument.partition("=")[0] in names for argument in arguments)


def _key(name: str, file: str) -> str:
    """Return the key in a file, as RefChecker keeps it."""
    try:
        return Path(file).read_text("utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{name} names a file with the key, and {file} cannot be read ({error})") from None
