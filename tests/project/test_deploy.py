"""The files for deployment keep what docs/deploy.md promises: what is published, mounted, pinned, and where secrets are."""

import json
import re
import tomllib
from typing import Any

import pytest
import typer
import yaml
from places import ROOT

from haluagent import __version__

DOC = (ROOT / "docs" / "deploy.md").read_text(encoding="utf-8")
DOCKERFILE = (ROOT / "Dockerfile").read_text(encoding="utf-8")
COMPOSE: dict[str, Any] = yaml.safe_load((ROOT / "compose.yaml").read_text(encoding="utf-8"))
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
SECCOMP: dict[str, Any] = json.loads((ROOT / "examples/compose/seccomp.json").read_text(encoding="utf-8"))


class Loader(yaml.SafeLoader):
    """Reads Compose's own tags (!override, !reset) as what stands behind them."""


Loader.add_multi_constructor("!", lambda loader, tag, node: loader.construct_sequence(node))


def instructions(stage: int | None = None) -> list[tuple[str, str]]:
    """The Dockerfile's instructions, of all stages or one (0 is the first)."""
    lines = re.sub(r"\\\n\s*", "", re.sub(r"^#.*\n", "", DOCKERFILE, flags=re.M)).splitlines()
    found, at = [], -1
    for line in filter(None, lines):
        name, _, rest = line.partition(" ")
        at += name == "FROM"
        if stage in (None, at):
            found.append((name, rest))
    return found


def test_only_what_wants_a_token_is_published_and_on_loopback() -> None:
    assert {name: service["ports"] for name, service in SERVICES.items() if "ports" in service} == {
        "server": ["${HALUAGENT_ADDRESS:-127.0.0.1}:${HALUAGENT_PORT:-8642}:8642"],
        "proxy": ["${HALUAGENT_ADDRESS:-127.0.0.1}:${HALUAGENT_PROXY_PORT:-8643}:8643"],
    }
    assert "--token-file=/run/secrets/haluagent-token" in SERVICES["proxy"]["command"]
    assert not any("network_mode" in service or "expose" in service for service in SERVICES.values())


def test_each_part_reaches_what_the_page_says() -> None:
    networks = COMPOSE["networks"]
    inside = {name for name, network in networks.items() if network.get("internal")}
    assert inside == {"model", "search", "chat"}
    assert networks["door"]["driver_opts"] == {"com.docker.network.bridge.enable_ip_masquerade": "false"}
    reached = {name: set(service["networks"]) for name, service in SERVICES.items()}
    assert reached == {
        "server": {"door", "model", "search"}, "vllm": {"model"}, "searxng": {"search", "internet"}, "weights": {"internet"},
        "proxy": {"door", "model", "chat"}, "chat": {"chat"},
    }  # fmt: skip
    # not started with the others
    assert SERVICES["weights"]["profiles"] == ["setup"]
    assert SERVICES["proxy"]["profiles"] == SERVICES["chat"]["profiles"] == ["chat"]


@pytest.mark.parametrize("name", SERVICES)
def test_each_part_is_contained(name: str) -> None:
    service = SERVICES[name]
    assert service["cap_drop"] == ["ALL"] and "cap_add" not in service
    assert service["read_only"] is True and service["init"] is True
    assert "no-new-privileges:true" in service["security_opt"]
    assert service["mem_limit"] and service["pids_limit"] > 0 and service["tmpfs"]
    assert service["logging"]["options"] == {"max-size": "10m", "max-file": "3"}
    assert not {"privileged", "pid", "ipc", "userns_mode", "devices", "cgroup_parent"} & service.keys()
    assert all(option in ("no-new-privileges:true",) or name == "server" for option in service["security_opt"])


def test_nothing_of_the_host_is_mounted_but_settings_to_read() -> None:
    for service in SERVICES.values():
        for volume in service.get("volumes", []):
            source, _, *options = volume.split(":")
            assert source in COMPOSE["volumes"] or (options == ["ro"] and (ROOT / source).is_file())
    assert "docker.sock" not in (ROOT / "compose.yaml").read_text(encoding="utf-8") and "docker.sock" not in DOCKERFILE


def test_every_image_has_a_version() -> None:
    images = [service["image"] for service in SERVICES.values()]
    images += [rest.split()[0] for name, rest in instructions() if name == "FROM"]
    images = [re.sub(r"\$\{\w+:-([^}]+)\}", r"\1", image) for image in images]
    base = dict(rest.split("=", 1) for name, rest in instructions() if name == "ARG" and "BASE" in rest)
    for image in (base["BASE"] if image == "${BASE}" else image for image in images):
        tag = image.rpartition(":")[2]
        assert re.search(r"\d", tag) and "latest" not in tag and ":" in image, image
    assert all(SERVICES[name]["image"] == f"haluagent:{__version__}" for name in ("server", "proxy", "chat"))


def test_secrets_are_in_files() -> None:
    assert all(SERVICES[name]["secrets"] == ["haluagent-token"] for name in ("server", "proxy", "chat"))
    assert list(COMPOSE["secrets"]["haluagent-token"]) == ["file"]
    names = [key for service in SERVICES.values() for key in service.get("environment", {})]
    names += re.findall(r"^(?:ENV|ARG) (.*)$", DOCKERFILE, flags=re.M)
    assert not [name for name in names if re.search(r"TOKEN|KEY|SECRET|PASSWORD", name)]
    assert instructions(1)[-1] == (
        "CMD",
        '["serve", "--host", "0.0.0.0", "--token-file", "/run/secrets/haluagent-token"]',
    )


def test_every_part_that_is_waited_for_has_a_health_check() -> None:
    waits = SERVICES["server"]["depends_on"]
    assert waits == {
        "vllm": {"condition": "service_healthy"},
        "searxng": {"condition": "service_started"},
    }  # works without searches
    assert SERVICES["proxy"]["depends_on"] == {"vllm": {"condition": "service_healthy"}}
    assert SERVICES["chat"]["depends_on"] == {"proxy": {"condition": "service_healthy"}}
    assert all("healthcheck" in SERVICES[name] for name in (*waits, "proxy"))
    check = next(rest for name, rest in instructions(1) if name == "HEALTHCHECK")
    command = json.loads(check[check.index("[") :])
    assert command[:2] == ["python", "-c"] and "/readyz" in command[2]
    compile(command[2], "health check", "exec")


def test_the_proxy_is_started_with_options_that_there_are() -> None:
    from haluagent.cli.main import app

    name, *arguments = SERVICES["proxy"]["command"]
    command = typer.main.get_command(app).commands[name]  # type: ignore[attr-defined]
    known = {option for parameter in command.params for option in parameter.opts}
    assert {argument.partition("=")[0] for argument in arguments} <= known


def test_the_image_runs_as_an_ordinary_user_in_exec_form() -> None:
    last = instructions(1)
    names = [name for name, _ in last]
    assert ("USER", "haluagent") in last and names.index("USER") < names.index("VOLUME")
    assert not any(name in ("RUN", "COPY") and "root" in rest for name, rest in last[names.index("USER") :])
    assert all(json.loads(rest) for name, rest in last if name in ("ENTRYPOINT", "CMD"))
    assert ("EXPOSE", "8642") in last


def test_what_the_image_is_made_of_is_there_and_let_through() -> None:
    sources = [source for name, rest in instructions(0) if name == "COPY" for source in rest.split()[:-1]]
    assert all((ROOT / source).exists() for source in sources)
    ignored = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    assert {line[1:] for line in ignored if line.startswith("!")} == set(sources) and "*" in ignored
    folders = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["setuptools"]["package-dir"]
    assert {folder.split("/")[0] for folder in folders.values()} <= set(sources)
    args = [rest for name, rest in instructions(1) if name == "ARG" and rest.startswith("EXTRAS=")]
    extras = {*args[0].removeprefix("EXTRAS=").split(","), SERVICES["server"]["build"]["args"]["EXTRAS"]}
    assert extras <= PROJECT["optional-dependencies"].keys()


def test_variables_are_those_that_are_read() -> None:
    read = "".join(
        path.read_text(encoding="utf-8")
        for room in ("haluagent", "tools", "sandbox")
        for path in (ROOT / room).rglob("*.py")
    )
    compose = (ROOT / "compose.yaml").read_text(encoding="utf-8")
    settings = {*re.findall(r"\$\{(\w+):-", compose)}
    named = {*re.findall(r"\bHALUAGENT_\w+", DOC + compose + DOCKERFILE)}
    assert [name for name in sorted(named - settings) if name not in read] == []
    assert {name for name in settings if f"`{name}`" not in DOC} == set()
    # and the guide's overrides are YAML about these services
    blocks = re.findall(r"^```yaml\n(.*?)^```", DOC, flags=re.M | re.S)
    assert len(blocks) == 2 and all(set(yaml.load(block, Loader)["services"]) <= SERVICES.keys() for block in blocks)


def test_the_filter_lets_bubblewrap_make_namespaces_and_refuses_the_rest() -> None:
    """What a program may not do, the server may neither, but for what bubblewrap needs."""
    from haluagent.sandbox.seccomp import _REFUSED

    refused = {
        name
        for rule in SECCOMP["syscalls"]
        if rule["action"] == "SCMP_ACT_ERRNO" and "args" not in rule
        for name in rule["names"]
    }
    needed = {"clone", "unshare", "mount", "umount2", "pivot_root", "sethostname"}
    assert not refused & needed
    # The rest Docker allows, too: they take memory that no limit of a process counts, but the container's counts it.
    assert set(_REFUSED) - refused - needed == {
        "memfd_create", "memfd_secret", "modify_ldt", "msgget", "semget", "shmget", "process_mrelease", "remap_file_pages",
        "listmount", "statmount",
    }  # fmt: skip
    assert "seccomp=./examples/compose/seccomp.json" in SERVICES["server"]["security_opt"]


def test_searxng_answers_programs() -> None:
    settings = yaml.safe_load((ROOT / "examples/compose/searxng.yml").read_text(encoding="utf-8"))
    assert "json" in settings["search"]["formats"] and settings["server"]["limiter"] is False
    assert "secret_key" not in settings["server"] and "SEARXNG_SECRET" in SERVICES["searxng"]["entrypoint"][2]
