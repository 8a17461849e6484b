"""The resource limits of a program. Both backends use the same figures."""

from dataclasses import dataclass

MIB = 2**20


@dataclass(frozen=True)
class SandboxLimits:
    """Bounds of one run, besides its seconds.

    `memory`: bytes of address space of each process; beyond it Python raises MemoryError. All processes together get
    `total_memory`; beyond it the kernel kills. `disk`: bytes of each of the two writable places, /tmp and /dev/shm, and
    of each file. `cpus`: processors used at a time. `output`: bytes written to standard output and standard error
    together.
    """

    memory: int = 512 * MIB
    processes: int = 64
    disk: int = 16 * MIB
    open_files: int = 256
    cpus: int = 1
    output: int = MIB

    @property
    def total_memory(self) -> int:
        """Return the bytes that all processes and both writable places may use together; one process at its own bound
        fits."""
        return self.memory + 2 * self.disk + 32 * MIB
