"""`haluagent search`: which search is set, and the way to another."""

import os
from typing import Annotated

import typer

app = typer.Typer(help="The search that is set, and the way to another.", no_args_is_help=True)


@app.callback()
def _group() -> None:
    """Keep `migrate` a command of its own, though it is the only one."""


@app.command()
def migrate(
    target: Annotated[
        str | None, typer.Argument(metavar="[NAME]", help="searxng, mediawiki, serper, vertex or local.")
    ] = None,
    url: Annotated[
        str | None, typer.Option("--url", help="The address of the server, for searxng, mediawiki and vertex.")
    ] = None,
    write: Annotated[
        bool, typer.Option("--write", help="Write the config file; a copy of the old one is kept.")
    ] = False,
) -> None:
    """Move the settings to another search, such as from Google's Custom Search JSON API, which closes on 2027-01-01.

    Without --write it says what would change, and changes nothing. Without a name it says which search is set.
    """
    from haluagent.search import migration
    from haluagent.settings import VARIABLES

    if target is None:
        _list()
        return
    planned = migration.plan(target, url)
    typer.echo(f"{planned.path}, [search]:" if planned.changes else f"{planned.path} names {target} already")
    for change in planned.changes:
        typer.echo(f"  {change}")
    if planned.changes and write:
        copy = migration.write(planned)
        typer.echo(f"written{f'; the old one is {copy}' if copy else ''}")
    elif planned.changes:
        typer.echo("nothing is written: add --write")
    variable = VARIABLES["provider"]
    if (given := os.environ.get(variable, "").strip()) and given != target:
        typer.echo(f"{variable}={given} is set in the environment and comes before the file: unset it")
    place, _ = migration.TARGETS[target]
    if url and place and os.environ.get(VARIABLES[place], "").strip() not in ("", url):
        typer.echo(f"{VARIABLES[place]} is set in the environment and comes before the file: unset it")


def _list() -> None:
    from haluagent.search import migration
    from haluagent.settings import VARIABLES

    typer.echo(f"set: {migration.current()}")
    for name, (place, needed) in migration.TARGETS.items():
        needs = " and ".join(VARIABLES[key] + (" (or --url)" if key == place else "") for key in needed)
        typer.echo(f"haluagent search migrate {name}: needs {needs or ('an index' if name == 'local' else 'nothing')}")
