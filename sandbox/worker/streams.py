"""The streams of a run as they arrive: the program's output, separated from the runner's own."""

STDOUT, STDERR = 1, 2


class Streams:
    """The two streams of one run.

    On standard output the nonce comes before the program's output, after it, and after the report; on standard error,
    after the program's output.
    """

    def __init__(self, nonce: bytes) -> None:
        self._nonce = nonce
        self._out = bytearray()
        self._err = bytearray()
        self._marks: list[int] = []  # positions of the nonces on standard output
        self._err_end: int | None = None

    @property
    def size(self) -> int:
        """Return the number of bytes received."""
        return len(self._out) + len(self._err)

    @property
    def begun(self) -> bool:
        return bool(self._marks)

    @property
    def complete(self) -> bool:
        """Return whether the report and both streams have arrived in full."""
        return self.report is not None and self._err_end is not None

    @property
    def stdout(self) -> bytes:
        marks = self._marks
        start = marks[0] + len(self._nonce) if marks else 0
        return bytes(self._out[start : marks[1] if len(marks) > 1 else None])

    @property
    def stderr(self) -> bytes:
        return bytes(self._err[: self._err_end])

    @property
    def report(self) -> bytes | None:
        """Return the report, once it has arrived in full."""
        if len(self._marks) < 3:
            return None
        return bytes(self._out[self._marks[1] + len(self._nonce) : self._marks[2]])

    def feed(self, stream: int, data: bytes) -> None:
        if stream == STDERR:
            start = self._fresh(len(self._err))
            self._err += data
            if self._err_end is None and (end := self._err.find(self._nonce, start)) >= 0:
                self._err_end = end
            return
        start = self._fresh(len(self._out))
        self._out += data
        while len(self._marks) < 3 and (mark := self._out.find(self._nonce, start)) >= 0:
            self._marks.append(mark)
            start = mark + len(self._nonce)

    def _fresh(self, length: int) -> int:
        """Return the earliest position of a nonce that was incomplete in the first `length` bytes."""
        return max(0, length - len(self._nonce) + 1)
