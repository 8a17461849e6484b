"""The Docker engine: connecting to it, explaining its errors, and removing leftovers."""

import contextlib
import logging
import os
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

from haluagent.errors import ConfigError, SandboxError
from haluagent.sandbox import owner

if TYPE_CHECKING:
    from docker import APIClient

logger = logging.getLogger(__name__)

DEFAULT_IMAGE = "haluagent-sandbox"
# The label on every container that names the process it belongs to.
LABEL = "haluagent.sandbox.owner"
# The time-out for an answer of the engine, in seconds.
ANSWER_SECONDS = 60
# Pauses before each try to remove a container, in seconds: an engine may still hold files of one that has just ended.
REMOVE_PAUSES = (0.0, 0.2, 1.0)
# How long a container is left alone whose process cannot be seen from here (on another machine, say).
FOREIGN_SECONDS = 3600.0


def image_name() -> str:
    """Return the name of the image that programs run in: HALUAGENT_SANDBOX_IMAGE, or the one that `haluagent sandbox
    build` makes."""
    return os.environ.get("HALUAGENT_SANDBOX_IMAGE") or DEFAULT_IMAGE


def connect() -> "APIClient":
    """Return a client of the engine at DOCKER_HOST, after it has answered. For use within `explained`."""
    import docker

    return docker.from_env(timeout=ANSWER_SECONDS, max_pool_size=32).api


def remove(client: "APIClient", container: str) -> bool:
    """Remove a container, running or not, and return whether this call removed it.

    The next process that starts tries again.
    """
    from docker.errors import DockerException
    from requests.exceptions import RequestException

    problem: Exception | None = None
    for pause in REMOVE_PAUSES:
        time.sleep(pause)
        try:
            client.remove_container(container, force=True, v=True)
            return True
        except (DockerException, RequestException) as error:
            if getattr(error, "status_code", None) in (404, 409):  # gone, or going
                return False
            problem = error
    logger.warning("the container %s was not removed: %s", container[:12], problem)
    return False


def remove_orphans(client: "APIClient") -> int:
    """Remove the containers of processes that have ended, and return how many were removed."""
    orphans = []
    for container in client.containers(all=True, filters={"label": LABEL}):
        gone = owner.is_gone(container["Labels"].get(LABEL, ""))
        if gone or (gone is None and time.time() - container["Created"] > FOREIGN_SECONDS):
            orphans.append(container["Id"])
    return sum([remove(client, orphan) for orphan in orphans])


@contextlib.contextmanager
def explained() -> Iterator[None]:
    """Turn errors of the engine into a `SandboxError` of one line; let a `TimeoutError` through. Raise `ConfigError`
    without the extra `docker`."""
    try:
        from docker.errors import APIError, DockerException
        from requests.exceptions import RequestException
    except ImportError:
        raise ConfigError('Docker needs one more package: pip install "haluagent[docker]"') from None
    try:
        yield
    except TimeoutError:  # the caller's own deadline
        raise
    except APIError as error:
        raise SandboxError(f"the Docker engine says: {' '.join(str(error.explanation or error).split())}") from error
    except (DockerException, RequestException, OSError) as error:
        where = os.environ.get("DOCKER_HOST", "its usual socket")
        if "permission denied" in str(error).lower():
            raise SandboxError(f"you may not use the Docker engine at {where}: join the group docker") from error
        raise SandboxError(
            f"the Docker engine does not answer at {where}: start it, or choose another sandbox"
        ) from error
