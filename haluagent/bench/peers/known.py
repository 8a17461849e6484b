"""The peers that can be installed."""

from haluagent.types import Record


class Known(Record):
    """A peer that can be installed. `version` is the one its requirements pin. A peer with `needs_reference` cannot
    judge an item without a reference."""

    name: str
    version: str
    needs_reference: bool


PEERS = {
    peer.name: peer
    for peer in (
        Known(name="refchecker", version="0.2.17", needs_reference=True),
        Known(name="deepeval", version="4.3.1", needs_reference=True),
        Known(name="ragas", version="0.4.3", needs_reference=True),
        Known(name="selfcheckgpt", version="0.1.7", needs_reference=False),
        Known(name="uqlm", version="0.6.7", needs_reference=False),
    )
}
