"""RAGAS 0.4.3, faithfulness: the response is broken into statements, and each is judged by the reference (arXiv 2309.15217).

It uses RAGAS's own metric and model classes with their defaults: JSON, at most 1,024 tokens, temperature 0.01, and an
answer that is not the requested JSON is asked for again, four times in all. RAGAS has no threshold: a score (the share
of statements that can be inferred from the reference) below 0.5 is a hallucination, as for DeepEval; the score returned
here is 1 minus that score. A response without statements is an error, since nothing was checked.
"""

import asyncio
import os
import sys
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

import _protocol

os.environ["RAGAS_DO_NOT_TRACK"] = "true"
# What other metrics run on: faithfulness needs names from them, as base classes or types, but never calls them. And
# appdirs, which says where to keep an identifier of the user: without a place, none is kept.
UNUSED = ("PIL", "appdirs", "datasets", "langchain_community", "langchain_core", "langchain_openai")


class Placeholder(ModuleType):
    """A module of a package that is not installed: each name in it is an empty class."""

    def __getattr__(self, name: str) -> type:
        if name.startswith("__"):
            raise AttributeError(name)
        return type(name, (), {"__class_getitem__": classmethod(lambda cls, _: cls)})


class Placeholders(MetaPathFinder, Loader):
    """Finds the modules of the unused packages."""

    def find_spec(self, name: str, path: Sequence[str] | None = None, target: Any = None) -> ModuleSpec | None:
        return ModuleSpec(name, self, is_package=True) if name.partition(".")[0] in UNUSED else None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return Placeholder(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        """Run nothing: there is no code."""


sys.meta_path.append(Placeholders())
# Their `__init__` would load every metric.
for name in ("ragas", "ragas.metrics", "ragas.metrics.collections"):
    _protocol.package(name)

from openai import AsyncOpenAI  # noqa: E402
from ragas.llms import llm_factory  # noqa: E402
from ragas.metrics.collections.faithfulness import Faithfulness  # noqa: E402

METRIC = Faithfulness(llm=llm_factory(_protocol.model(), client=AsyncOpenAI()))  # reads OPENAI_BASE_URL and _API_KEY
RUNNER = asyncio.Runner()  # one loop for all items, as the client keeps its connections


def detect(item: _protocol.Item) -> dict[str, Any]:
    for part in ("question", "reference"):
        if not item[part]:
            raise ValueError(f"RAGAS needs a {part}, and this item has none")
    found = METRIC.ascore(
        user_input=item["question"], response=item["response"], retrieved_contexts=[item["reference"]]
    )
    faithful = RUNNER.run(found).value
    if faithful != faithful:  # NaN
        raise ValueError("no statement was found in the response, or none was judged")
    return {"verdict": faithful < 0.5, "score": 1 - faithful, "details": ""}


if __name__ == "__main__":
    _protocol.serve(detect)
