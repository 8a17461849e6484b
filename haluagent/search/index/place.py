"""The file of the local index: its path, and whether it exists."""

import os
from pathlib import Path

VARIABLE = "HALUAGENT_INDEX"


def default_path() -> Path:
    """Return the default path of the index: `HALUAGENT_INDEX`, otherwise in the user's data folder."""
    if named := os.environ.get(VARIABLE):
        return Path(named)
    from platformdirs import user_data_dir

    return Path(user_data_dir("haluagent"), "index.db")


def packs_path(path: Path) -> Path:
    """Return the file that remembers the packs attached to an index, whether or not it exists."""
    return path.with_name(f"{path.name}.packs.json")


def exists(path: Path) -> bool:
    """Return whether the file exists and is not empty: an index that was only begun is empty."""
    return path.is_file() and path.stat().st_size > 0
