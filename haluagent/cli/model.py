"""`haluagent model`: list, pull and locate the weights of the embedded model, and serve a model to others."""

import sys
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from haluagent.cli.engine import app as engine_app
from haluagent.errors import ConfigError
from haluagent.models.engines import EngineName

if TYPE_CHECKING:
    from haluagent.models.adapters import Adapter

app = typer.Typer(help="Manage the weights on this machine, and serve a model.", no_args_is_help=True)
app.add_typer(engine_app, name="engine")

Name = Annotated[str | None, typer.Argument(help="A name from `model list`, or hf:OWNER/REPO/FILE.gguf.")]


@app.command("list")
def list_models() -> None:
    """Show the known weights, and which of them are on this machine."""
    from rich.console import Console
    from rich.table import Table

    from haluagent.models import adapters
    from haluagent.models.weights import catalogue, store

    here = {found.name: found for found in catalogue.installed()}
    table = Table(box=None, pad_edge=False, header_style="bold")
    for title in ("name", "size", "licence", "languages", "installed"):
        table.add_column(title, justify="right" if title == "size" else "left", overflow="fold")
    for known in catalogue.KNOWN.values():
        name = known.name + (" (default)" if known.name == catalogue.DEFAULT else "")
        place = str(here.pop(known.name).path) if known.name in here else "not installed"
        table.add_row(name, store.megabytes(known.size), known.licence, known.languages, place)
    for other in here.values():
        table.add_row(other.name, store.megabytes(other.size), "see its hub", "", str(other.path))
    for adapter in adapters.all_shipped():
        if card := adapter.card:
            name = f"{card.name} (adapter, on by default with {card.base})"
            table.add_row(name, store.megabytes(card.bytes), card.licence, "", str(adapter.path))
    # A terminal wraps the table; a pipe gets every row on one line.
    Console(width=None if sys.stdout.isatty() else 400).print(table)


@app.command()
def pull(
    name: Name = None,
    sha256: Annotated[str | None, typer.Option(help="The expected SHA-256 of a file from a hub.")] = None,
    revision: Annotated[str | None, typer.Option(help="Branch, tag or commit on a hub.")] = None,
    format: Annotated[
        Literal["gguf", "peft"], typer.Option(help="peft: of the package's adapter, for vLLM and transformers.")
    ] = "gguf",
) -> None:
    """Download weights, check their SHA-256, and print their path. An interrupted download is resumed. Of an adapter, which comes
    with the package, print the path of its file, or write it as a peft directory."""
    from haluagent.models import adapters
    from haluagent.models.weights import catalogue
    from haluagent.models.weights.progress import download_progress

    name = name or catalogue.DEFAULT
    if not name.startswith(catalogue.HUB) and (sha256 or revision):
        raise ConfigError("--sha256 and --revision are for weights from a hub (hf:OWNER/REPO/FILE.gguf)")
    if adapter := adapters.named(name):
        from haluagent.models.peft import write_peft

        typer.echo(adapter.checked() if format == "gguf" else write_peft(adapter))
        return
    if format == "peft":
        raise ConfigError("--format peft is for the package's adapter: name it as `haluagent model list` does")
    with download_progress(name) as progress:
        place = catalogue.pull(name, progress, sha256=sha256, revision=revision)
    typer.echo(place)


def _default_adapter(weights: str | None) -> "Adapter":
    from haluagent.models import adapters
    from haluagent.models.weights import catalogue

    found = adapters.shipped(weights or catalogue.DEFAULT)
    if found is None:
        raise ConfigError(
            f"no adapter comes with the package for {weights}: leave out --adapter, or name one with --lora"
        )
    return found


@app.command()
def path(name: Name = None) -> None:
    """Print the path of weights. Exit code 2 if they are not on this machine."""
    from haluagent.models.weights import catalogue

    name = name or catalogue.DEFAULT
    place = catalogue.path(name)
    if place is None:
        raise ConfigError(f"the weights {name} are not on this machine: run `haluagent model pull {name}`")
    typer.echo(place)


@app.command()
def serve(
    engine: Annotated[EngineName, typer.Option(help="The engine that runs the model.")] = "llama.cpp",
    model: Annotated[str | None, typer.Option(help="Weights for llama.cpp; a model's id or path for vLLM.")] = None,
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port to listen on.")] = 8080,
    context: Annotated[int | None, typer.Option(help="Tokens per conversation.")] = None,
    parallel: Annotated[int | None, typer.Option(help="Parallel requests.")] = None,
    adapter: Annotated[
        Literal["default", "none"], typer.Option(help="default: the package's adapter, with its base.")
    ] = "none",
    lora: Annotated[list[str] | None, typer.Option(help="vLLM: NAME=PATH; llama.cpp: a GGUF file.")] = None,
    max_lora_rank: Annotated[int | None, typer.Option(help="vLLM: the largest rank among the adapters.")] = None,
    vllm_bin: Annotated[str | None, typer.Option(help="vLLM: its executable (or HALUAGENT_VLLM).")] = None,
    api_key: Annotated[str | None, typer.Option(help="Require this key from clients.")] = None,
    extra: Annotated[list[str] | None, typer.Argument(help="After --: more arguments for vLLM.")] = None,
) -> None:
    """Serve a model in the foreground to other programs and machines, until Ctrl-C."""
    from haluagent.models.engines import ServeOptions
    from haluagent.models.engines import serve as serve_with

    chosen = _default_adapter(model if engine == "llama.cpp" else None) if adapter == "default" else None
    options = ServeOptions(
        model, host, port, context, parallel, tuple(lora or ()), max_lora_rank, vllm_bin, api_key, tuple(extra or ()),
        chosen,
    )  # fmt: skip
    serve_with(engine, options)
