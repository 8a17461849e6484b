"""The Docker engine: reaching it, what it says when something is wrong, and removing what is left over."""

import contextlib
import logging
import os
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

from haluagent.errors import SandboxError
from haluagent.sandbox import owner

if TYPE_CHECKING:
    from docker import APIClient

logger = logging.getLogger(__name__)

DEFAULT_IMAGE = "haluagent-sandbox"
# On every container: the process that it belongs to.
LABEL = "haluagent.sandbox.owner"
# For an answer of the engine, in seconds.
ANSWER_SECONDS = 60
# Before each try to remove a container, in seconds: an engine may still hold files of one that has just ended.
REMOVE_PAUSES = (0.0, 0.2, 1.0)
# A container whose process cannot be seen from here (another machine's, say) is left alone for so long.
FOREIGN_SECONDS = 3600.0


def image_name() -> str:
    """The image that programs run in: HALUAGENT_SANDBOX_IMAGE, or what `haluagent sandbox build` makes."""
    return os.environ.get("HALUAGENT_SANDBOX_IMAGE") or DEFAULT_IMAGE


def connect() -> "APIClient":
    """A client of the engine of DOCKER_HOST, which has answered; for use within `explained`."""
    import docker

    return docker.from_env(timeout=ANSWER_SECONDS, max_pool_size=32).api


def remove(client: "APIClient", container: str) -> bool:
    """Remove a container, running or not; False where that was not done. The next process that starts tries again."""
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
    """Remove the containers of processes that have ended, and return how many there were."""
    orphans = []
    for container in client.containers(all=True, filters={"label": LABEL}):
        gone = owner.is_gone(container["Labels"].get(LABEL, ""))
        if gone or (gone is None and time.time() - container["Created"] > FOREIGN_SECONDS):
            orphans.append(container["Id"])
    return sum([remove(client, orphan) for orphan in orphans])


@contextlib.contextmanager
def explained() -> Iterator[None]:
    """What goes wrong with the engine becomes a SandboxError of one line; a TimeoutError stays one."""
    from docker.errors import APIError, DockerException
    from requests.exceptions import RequestException

    try:
        yield
    except TimeoutError:  # a caller's own deadline
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
