"""Other detectors on the same items: each in its own environment, behind a worker process, with its cost metered."""

from haluagent.bench.peers.client import Peer, PeerAnswer
from haluagent.bench.peers.install import install, python_of
from haluagent.bench.peers.known import PEERS, Known

__all__ = ["PEERS", "Known", "Peer", "PeerAnswer", "install", "python_of"]
