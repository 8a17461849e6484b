"""`haluagent doctor`: what is there for a first answer, what would be used, and how to get what is missing."""

import os
import re
import sys
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Annotated, Literal, NamedTuple

import typer

from haluagent import __version__

if TYPE_CHECKING:
    from haluagent.models.engines.embedded import EmbeddedModel
    from haluagent.protocols import Model
    from haluagent.report.lines import Line

State = Literal["ok", "gap", "missing"]
MARKS = {"ok": ("green", "✓"), "gap": ("yellow", "·"), "missing": ("red", "✗")}
# The modules of each extra, and what it is for.
EXTRAS = {
    "embedded": (("xllamacpp",), "the model that needs no server"),
    "hub": (("huggingface_hub",), "weights from a model hub"),
    "documents": (("bs4", "pypdf"), "HTML and PDF files, pages of the web"),
    "knowledge": (("libzim", "bs4"), "ZIM files of Kiwix"),
    "parquet": (("pyarrow",), "Parquet files"),
    "excel": (("openpyxl",), "Excel files"),
    "docker": (("docker",), "the Docker sandbox"),
    "google": (("googleapiclient",), "Google search and Google Translate"),
    "bench": (("numpy",), "benchmarks and calibration"),
    "nli": (("onnxruntime", "tokenizers"), "the checker nli of claims"),
    "cross-encoder": (
        ("sentence_transformers", "torch"),
        "the checker nli of claims, with a CrossEncoder; small judges of the benchmark",
    ),
    "aiohttp": (("httpx_aiohttp",), "requests to a model server at less CPU time"),
    "metrics": (("prometheus_client",), "metrics of batch"),
    "server": (("fastapi", "uvicorn", "prometheus_client"), "haluagent serve"),
    "mcp": (("mcp",), "haluagent mcp"),
    "otel": (("opentelemetry",), "traces of the server"),
    "ray": (("ray",), "detection over Ray Data"),
    "langchain": (("langchain", "langgraph"), "LangChain and LangGraph"),
    "llamaindex": (("llama_index",), "LlamaIndex"),
    "openai-agents": (("agents",), "the OpenAI Agents SDK"),
    "train": (("torch", "transformers", "trl", "peft", "gguf", "datasets"), "fine-tuning"),
    "qlora": (("torch", "bitsandbytes"), "fine-tuning in four bits"),
    "vllm": (("vllm",), "a model server on a GPU"),
}


class PartFound(NamedTuple):
    """What was found about a part. `missing` keeps a first answer from being given, a `gap` only makes it poorer; `fix`
    says what to do."""

    part: str
    state: State
    text: str
    fix: str | None = None


def doctor(
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object instead of the list.")] = False,
) -> None:
    """Look at what is installed and set up, and say how to get what is missing. The model is not started.

    Exit code: 0 a first answer is possible, 1 it is not.
    """
    import json

    from haluagent.cli.terminal import Screen

    findings = [_shown(found) for found in look()]
    ready = all(found.state != "missing" for found in findings)
    if as_json:
        record = {"version": __version__, "ready": ready, "parts": [found._asdict() for found in findings]}
        sys.stdout.buffer.write(json.dumps(record, ensure_ascii=False).encode() + b"\n")
    else:
        Screen(sys.stdout).show(_lines(findings, ready))
    raise typer.Exit(0 if ready else 1)


def _lines(findings: Iterable[PartFound], ready: bool) -> "Iterator[Line]":
    from haluagent.report.lines import Line

    for found in findings:
        style, mark = MARKS[found.state]
        yield Line((style, mark), ("", f" {found.part}: {found.text}"))
        if found.fix:
            yield Line(("", f"→ {found.fix}"), indent=4)
    yield Line(("bold", "a first answer is possible" if ready else "a first answer is not possible yet: see ✗"))


def look() -> Iterator[PartFound]:
    """Yield what is found about each part."""
    yield PartFound("haluagent", "ok", f"{__version__}, Python {'.'.join(map(str, sys.version_info[:3]))}")
    for look_at in (_settings, _model, _sandbox, _index, _search, _extras):
        yield from look_at()


def _settings() -> Iterator[PartFound]:
    from haluagent.errors import ConfigError
    from haluagent.settings import config_path, read_settings

    path = config_path()
    try:
        read_settings()
    except ConfigError as error:
        yield PartFound("settings", "missing", str(error), f"correct {path}")
    else:
        yield PartFound("settings", "ok", str(path) if path.is_file() else f"the defaults; no file {path}")


def _model() -> Iterator[PartFound]:
    from haluagent.errors import HaluAgentError
    from haluagent.models.engines.embedded import EmbeddedModel
    from haluagent.models.resolution import resolve

    try:
        model = resolve()
    except HaluAgentError as error:
        fix = "start the server, or correct HALUAGENT_BASE_URL, HALUAGENT_MODEL and HALUAGENT_API_KEY, or unset them"
        yield PartFound("model", "missing", str(error), fix)
        return
    if isinstance(model, EmbeddedModel):
        yield from _embedded(model)
    else:
        yield PartFound("model", "ok", f"{model.name} at {getattr(model, 'base_url', 'an endpoint')}, which answers")
    yield _calibration(model)


def _embedded(model: "EmbeddedModel") -> Iterator[PartFound]:
    from pathlib import Path

    from haluagent.models.weights import catalogue, store

    yield PartFound("model", "ok", f"{model.name}, in this process")
    if _there("xllamacpp"):
        yield PartFound("engine", "ok", "llama.cpp (xllamacpp)")
    else:
        fix = 'pip install "haluagent[embedded]", or set HALUAGENT_BASE_URL to a model server'
        yield PartFound("engine", "missing", "xllamacpp is not installed", fix)
    known = catalogue.KNOWN.get(model.weights)
    place = Path(model.weights) if model.weights.endswith(".gguf") else catalogue.path(model.weights)
    if place is not None and place.is_file():
        yield PartFound("weights", "ok", f"{place} ({store.megabytes(place.stat().st_size)})")
    else:
        size = f" ({store.megabytes(known.size)})" if known else ""
        fix = f"haluagent model pull {model.weights}; the first detection pulls them too, if it may download"
        yield PartFound("weights", "missing", f"{model.weights}{size} are not on this machine", fix)
    adapter = model.adapter
    if adapter is None:
        yield PartFound(
            "adapter", "gap", "none", "leave --no-adapter and HALUAGENT_ADAPTER out to use the package's own"
        )
    elif adapter.path.is_file():
        yield PartFound("adapter", "ok", f"{adapter.name} ({adapter.path})")
    else:
        yield PartFound("adapter", "missing", f"{adapter.path} is not there", "install haluagent anew, or --no-adapter")


def _calibration(model: "Model") -> PartFound:
    from haluagent.models.calibration import IDENTITY, calibration_of

    if calibration_of(model) == IDENTITY:
        fix = "haluagent calibrate --claims FILE --write FILE, and HALUAGENT_CALIBRATION=FILE"
        return PartFound("calibration", "gap", f"none for {model.name}: its scores are taken as they are", fix)
    given = os.environ.get("HALUAGENT_CALIBRATION")
    return PartFound("calibration", "ok", given or f"that of {model.name}")


def _sandbox() -> Iterator[PartFound]:
    from haluagent.sandbox.choose import advice, resolve

    sandbox = resolve()  # asks Docker only where there is one: its client is slow to load
    if sandbox is not None:
        yield PartFound("sandbox", "ok", sandbox.name)
    else:
        yield PartFound("sandbox", "gap", "none: code in a response is not run", advice("en"))


def _index() -> Iterator[PartFound]:
    from haluagent.errors import HaluAgentError
    from haluagent.search.index.local import LocalIndex
    from haluagent.search.index.place import default_path, exists

    path = default_path()
    if not exists(path):
        yield PartFound("index", "gap", f"there is none at {path}", "haluagent index add PATH")
        return
    try:
        held = LocalIndex(path).stats()
        yield PartFound("index", "ok", f"{held.documents} documents in {path}")
    except HaluAgentError as error:
        yield PartFound("index", "gap", str(error), f"remove {path}, and add your documents again")


def _search() -> Iterator[PartFound]:
    from haluagent.errors import HaluAgentError
    from haluagent.search import resolution

    try:
        provider = resolution.resolve()
    except HaluAgentError as error:
        yield PartFound("search", "gap", str(error))
        return
    if provider is None:
        fix = "haluagent index add PATH, or set HALUAGENT_SEARXNG_URL, or HALUAGENT_SEARCH=mediawiki"
        yield PartFound("search", "gap", "none: without a reference little can be decided", fix)
    else:
        yield PartFound("search", "ok", provider.name)


def _extras() -> Iterator[PartFound]:
    lacking = {extra: [module for module in modules if not _there(module)] for extra, (modules, _) in EXTRAS.items()}
    yield PartFound("extras", "ok", ", ".join(extra for extra in EXTRAS if not lacking[extra]) or "none")
    for extra, (_, purpose) in EXTRAS.items():
        if lacking[extra]:
            text = f"{extra} lacks {', '.join(lacking[extra])} ({purpose})"
            yield PartFound("extra", "gap", text, f'pip install "haluagent[{extra}]"')


def _there(module: str) -> bool:
    from importlib.util import find_spec

    try:
        return find_spec(module) is not None
    except (ImportError, ValueError):  # ValueError: it is hidden, as in tests
        return False


_PASSWORD = re.compile(r"(?<=://)[^/@\s]*@")


def _shown(found: PartFound) -> PartFound:
    """Return a finding without passwords and keys, whatever quotes them."""
    return found._replace(text=_hidden(found.text), fix=found.fix and _hidden(found.fix))


def _hidden(text: str) -> str:
    text = _PASSWORD.sub("***@", text)
    for key in _keys():
        text = text.replace(key, "***")
    return text


def _keys() -> list[str]:
    from haluagent.errors import ConfigError
    from haluagent.settings import read_search_settings, read_settings

    found = [value for name, value in os.environ.items() if name.endswith("_KEY")]
    try:
        search = read_search_settings()
        found += [key for key in (read_settings().api_key, search.google_api_key, search.serper_api_key) if key]
    except ConfigError:
        pass  # the settings are shown as what is wrong
    return [key for key in found if len(key) > 3]
