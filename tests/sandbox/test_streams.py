"""The program's output, told apart from the runner's, wherever the pieces are cut."""

from hypothesis import given
from hypothesis import strategies as st

from haluagent.sandbox.worker.streams import STDERR, STDOUT, Streams

NONCE = b"0123456789abcdef"


@st.composite
def pieces(draw: st.DrawFn, data: bytes) -> list[bytes]:
    cuts = sorted(draw(st.lists(st.integers(0, len(data)), max_size=8)))
    return [data[start:end] for start, end in zip([0, *cuts], [*cuts, len(data)], strict=True)]


# Output made of parts of the nonce is the hardest to tell from it.
output = st.lists(st.sampled_from([b"x", b"\n", NONCE[:-1], NONCE[1:], b"0", b"\0"]), max_size=6).map(b"".join)


@given(st.data(), output, output, output.filter(bool))
def test_any_cut_gives_the_same(data: st.DataObject, out: bytes, err: bytes, report: bytes) -> None:
    if NONCE in out + report + err:  # two parts that make the nonce between them
        return
    streams = Streams(NONCE)
    for piece in data.draw(pieces(NONCE + out + NONCE + report + NONCE)):
        assert not streams.complete
        streams.feed(STDOUT, piece)
    for piece in data.draw(pieces(err + NONCE)):
        assert streams.report == report
        streams.feed(STDERR, piece)
    assert streams.complete and streams.begun
    assert (streams.stdout, streams.stderr, streams.report) == (out, err, report)
    assert streams.size == len(out) + len(err) + len(report) + 4 * len(NONCE)
    streams.feed(STDOUT, b"from a thread that stayed" + NONCE)
    streams.feed(STDERR, b"and its error")
    assert (streams.stdout, streams.stderr, streams.report) == (out, err, report)


def test_a_program_that_was_cut_off() -> None:
    streams = Streams(NONCE)
    streams.feed(STDOUT, NONCE[:5])
    assert not streams.begun
    streams.feed(STDOUT, NONCE[5:] + b"half a li")
    streams.feed(STDERR, b"warning")
    assert streams.begun and not streams.complete and streams.report is None
    assert (streams.stdout, streams.stderr) == (b"half a li", b"warning")
