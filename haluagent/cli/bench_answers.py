"""`haluagent bench answers`: answers of several sentences beside a document, sentence by sentence."""

from pathlib import Path
from typing import Annotated

import typer

from haluagent.cli import options
from haluagent.cli.bench_running import show
from haluagent.cli.endpoints import Endpoints, InFlight, SecondBudget, TokenBudget, make_agents
from haluagent.cli.options import AgentOptions, chosen_adapter


def answers(
    data: Annotated[
        list[Path],
        typer.Option(help="A .jsonl file of labelled answers; may be given several times (docs/benchmarks.md)."),
    ],
    out: Annotated[Path, typer.Option(metavar="RUN", help="The file of the run, JSON Lines; continued if it exists.")],
    limit: Annotated[int | None, typer.Option(min=1, help="Only the first N answers of each file.")] = None,
    endpoint: Endpoints = None,
    in_flight: InFlight = None,
    retry_errors: Annotated[bool, typer.Option("--retry-errors", help="Check failed answers again.")] = False,
    token_budget: TokenBudget = None,
    second_budget: SecondBudget = None,
    autonomy: options.AutonomyOption = AgentOptions.autonomy,
    model: options.ModelName = None,
    base_url: options.BaseUrl = None,
    api_key: options.ApiKey = None,
    adapter: options.AdapterFile = None,
    no_adapter: options.NoAdapter = False,
    base_rate: options.BaseRate = None,
    no_reflect: options.NoReflect = False,
    ablate: options.Ablate = None,
    sandbox: options.SandboxOption = AgentOptions.sandbox,
    search: options.SearchOption = "none",
    index: options.IndexOption = None,
    tools: options.ToolFiles = None,
) -> None:
    """Check labelled answers beside their documents with the agent, and print what it makes of right and of wrong
    sentences. The same command resumes where it stopped."""
    wanted = AgentOptions(
        model=model, base_url=base_url, api_key=api_key, adapter=chosen_adapter(adapter, no_adapter),
        base_rate=base_rate, sandbox=sandbox, search=search, index=index, tools=tools, autonomy=autonomy,
        reflect=not no_reflect, ablate=ablate,
    )  # fmt: skip

    from haluagent.batch.pool import Bounds
    from haluagent.bench import answers as bench
    from haluagent.bench import run
    from haluagent.bench.methods.registry import METHODS

    known = {str(one.name): one for file in data for one in bench.load(file)[:limit]}
    agents, at_once = make_agents(wanted, endpoint, in_flight)
    show(
        lambda progress: run.judge(
            [("answers", answer.item(), "haluagent") for answer in known.values()],
            agents,
            out,
            methods={"haluagent": METHODS["haluagent"]},
            in_flight=at_once,
            bounds=Bounds(tokens=token_budget, seconds=second_budget),
            again=retry_errors,
            progress=progress,
        ),
        out,
        lambda rows: bench.table(bench.found(known, rows)),
    )
