"""What a container prints is not kept by the engine: its default log driver writes it to a file, without bound."""

import contextlib
from typing import Any

import docker

BACKENDS = ("docker",)


def test_a_flood_is_not_logged_on_the_hosts_disk(arena: Any) -> None:
    arena.run("print('x')")
    drivers = []
    with contextlib.closing(docker.from_env()) as client:
        for container in client.api.containers(all=True, filters={"label": "haluagent.sandbox.owner"}):
            with contextlib.suppress(docker.errors.NotFound):  # it was used meanwhile
                drivers.append(client.api.inspect_container(container)["HostConfig"]["LogConfig"]["Type"])
    assert drivers, "there was no container to look at"
    assert set(drivers) == {"none"}
