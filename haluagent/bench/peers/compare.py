"""Run other detectors on the same items at the same endpoint, each in its own environment, with their cost metered."""

from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager

from haluagent.agent import HaluAgent
from haluagent.bench.datasets.items import Item
from haluagent.bench.methods.registry import METHODS, Method, without_adapter
from haluagent.bench.methods.small_judges import SMALL_JUDGES
from haluagent.bench.peers import PEERS, Peer
from haluagent.bench.peers.meter_proxy import MeterProxy
from haluagent.bench.rows import Row, blank
from haluagent.errors import ConfigError, ModelError
from haluagent.models.client import OpenAIModel
from haluagent.models.engines.embedded import EmbeddedModel


class Peers:
    """The named peers at the endpoint of a base model. Raises ConfigError for a peer that is unknown, not installed or
    without its weights, and for a model without an endpoint."""

    def __init__(self, names: Sequence[str], agent: HaluAgent) -> None:
        if bare := [name for name in names if name in SMALL_JUDGES]:
            raise ConfigError(f"{bare[0]} has weights of its own: give --weights {bare[0]}=PATH")
        if unknown := [name for name in names if name not in PEERS]:
            raise ConfigError(f"there is no peer {', '.join(unknown)}; there are {', '.join([*METHODS, *PEERS])}")
        model = without_adapter(agent.model)
        if not isinstance(model, OpenAIModel | EmbeddedModel):
            raise ConfigError("the peers need a model that is served: give --base-url, or use the embedded one")
        self._proxies = {
            name: MeterProxy(model.base_url, model.api_key, count_tokens=model.count_tokens) for name in names
        }
        self._peers = {name: Peer(name, self._proxies[name], getattr(model, "weights", model.name)) for name in names}

    @property
    def methods(self) -> dict[str, Method]:
        """Return a benchmark method for each peer, by name."""
        return {name: _method(peer, self._proxies[name]) for name, peer in self._peers.items()}

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Run the proxies and the workers while the block is open."""
        async with AsyncExitStack() as stack:
            for name, peer in self._peers.items():
                stack.enter_context(self._proxies[name])
                await stack.enter_async_context(peer)
            yield


def _method(peer: Peer, proxy: MeterProxy) -> Method:
    async def method(agent: HaluAgent, item: Item, dataset: str) -> Row:
        before = proxy.failures
        answer = await peer.detect(item.question, item.response, item.reference)
        if answer.error and proxy.failures > before:  # the endpoint failed, not the peer
            raise ModelError(answer.error)
        return blank(item, dataset, peer.name).model_copy(update=answer._asdict())

    return method
