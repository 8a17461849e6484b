"""The file of the local index: where it is, and whether there is one."""

import os
from pathlib import Path

VARIABLE = "HALUAGENT_INDEX"


def default_path() -> Path:
    """Where the index is unless a caller names another: `HALUAGENT_INDEX`, else the user's folder for data."""
    if named := os.environ.get(VARIABLE):
        return Path(named)
    from platformdirs import user_data_dir

    return Path(user_data_dir("haluagent"), "index.db")


def exists(path: Path) -> bool:
    """Whether there is a file with something in it: an index that was only begun is empty."""
    return path.is_file() and path.stat().st_size > 0
