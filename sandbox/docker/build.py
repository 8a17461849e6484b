"""Building the sandbox's Docker image, with a registry or without."""

import asyncio
import contextlib
import io
import os
import shutil
import subprocess
import tarfile
import tempfile
from collections.abc import Iterator
from functools import partial
from importlib.resources import files
from pathlib import Path
from typing import Any

from haluagent.errors import ConfigError, SandboxError
from haluagent.sandbox.docker.backend import DockerSandbox
from haluagent.sandbox.docker.engine import connect, explained, image_name

DEFAULT_BASE = "python:3.11-slim"
DEBOOTSTRAP_BASE = "haluagent-base:debootstrap"
# The standard library, and the time zones that zoneinfo reads.
_PACKAGES = "python3,tzdata"
_SUITE = "stable"
_MIRROR = "http://deb.debian.org/debian"


def build(base: str = DEFAULT_BASE) -> str:
    """Build the image on `base` and return a line about it.

    Needs no network if the engine already has `base`. Raise `ConfigError` if the build fails or the image has no
    suitable Python.
    """
    image = image_name()
    try:
        with explained():
            errors = [" ".join(str(line["error"]).split()) for line in _build(image, base) if "error" in line]
    except SandboxError as error:
        raise ConfigError(str(error)) from error
    if errors:
        hint = "where no registry can be reached, --debootstrap needs none"
        raise ConfigError(f"the image was not built on {base}: {errors[0]} ({hint})")
    sandbox = DockerSandbox(image=image, spare=0)
    try:
        found = asyncio.run(sandbox.run("import sys; print(sys.version.split()[0])"))
        return f"{sandbox.check()}, Python {found.stdout.strip()}"
    except SandboxError as error:
        raise ConfigError(f"the base image {base} does not fit, it needs Python 3.10 or newer: {error}") from error
    finally:
        sandbox.close()


def debootstrap(mirror: str | None = None) -> str:
    """Make a base image of Debian packages and return its name.

    Needs root, the program debootstrap and a Debian mirror. Raise a `ConfigError` with advice if something is missing.
    """
    if shutil.which("debootstrap") is None:
        raise ConfigError("debootstrap is not installed: install the package debootstrap")
    if os.geteuid() != 0:
        raise ConfigError("--debootstrap needs root: run it with sudo")
    root = Path(tempfile.mkdtemp(prefix="haluagent-debootstrap-"))
    try:
        arguments = ["debootstrap", "--variant=minbase", f"--include={_PACKAGES}", _SUITE, str(root), mirror or _MIRROR]
        made = subprocess.run(arguments, capture_output=True, text=True, errors="replace")
        if made.returncode != 0:
            lines = (made.stderr + made.stdout).split("\n")
            reason = next((line for line in lines if line.startswith("E: ")), f"exit code {made.returncode}")
            raise ConfigError(f"debootstrap failed ({reason}): check the network, or give another --mirror")
        _import(root)
    finally:
        # A failed debootstrap may leave these mounted; their contents must not be deleted.
        subprocess.run(["umount", "--quiet", str(root / "proc"), str(root / "sys")], stderr=subprocess.DEVNULL)
        subprocess.run(["rm", "-rf", "--one-file-system", str(root)])
    return DEBOOTSTRAP_BASE


def _build(image: str, base: str) -> Iterator[dict[str, Any]]:
    """Build the image, and yield the engine's messages."""
    dockerfile = files(__package__).joinpath("Dockerfile").read_bytes()
    context = io.BytesIO()
    with tarfile.open(fileobj=context, mode="w") as archive:
        entry = tarfile.TarInfo("Dockerfile")
        entry.size = len(dockerfile)
        archive.addfile(entry, io.BytesIO(dockerfile))
    context.seek(0)
    with contextlib.closing(connect()) as client:
        yield from client.build(
            fileobj=context, custom_context=True, tag=image, buildargs={"BASE": base}, network_mode="none",
            rm=True, forcerm=True, decode=True,
        )  # fmt: skip


def _import(root: Path) -> None:
    left_out = ["--exclude=./var/cache/apt/*", "--exclude=./var/lib/apt/lists/*"]
    command = ["tar", "-C", str(root), "--numeric-owner", *left_out, "-c", "."]
    repository, tag = DEBOOTSTRAP_BASE.split(":")
    with explained(), contextlib.closing(connect()) as client:
        with subprocess.Popen(command, stdout=subprocess.PIPE) as tar:
            assert tar.stdout is not None
            pieces = iter(partial(tar.stdout.read, 65536), b"")
            said = client.import_image_from_stream(pieces, repository=repository, tag=tag)
        if '"error"' in said:
            raise SandboxError(f"the Docker engine says: {said}")
