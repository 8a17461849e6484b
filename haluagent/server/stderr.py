"""The log of a server on standard error."""

import logging
import sys


def log_to_stderr() -> None:
    """Write the server's log, which has a line for each request, to standard error."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter("%(asctime)s %(message)s", "%Y-%m-%dT%H:%M:%S%z"))
    log = logging.getLogger("haluagent.server")
    log.setLevel(logging.INFO)
    log.propagate = False
    log.addHandler(handler)
