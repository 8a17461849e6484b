"""What comes back from a runner, while it comes: the program's output, told apart from the runner's own words."""

STDOUT, STDERR = 1, 2


class Streams:
    """The two streams of one run. On standard output the nonce stands before the program's output, after it, and after
    the report; on standard error after the program's output."""

    def __init__(self, nonce: bytes) -> None:
        self._nonce = nonce
        self._out = bytearray()
        self._err = bytearray()
        self._marks: list[int] = []  # where the nonces on standard output are
        self._err_end: int | None = None

    @property
    def size(self) -> int:
        """Bytes received."""
        return len(self._out) + len(self._err)

    @property
    def begun(self) -> bool:
        return bool(self._marks)

    @property
    def complete(self) -> bool:
        """Whether nothing that is wanted can still come."""
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
        """The report, if all of it is here."""
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
        """Where a nonce can begin that was not complete in the first `length` bytes."""
        return max(0, length - len(self._nonce) + 1)
