"""What workers of a cluster hold: values whose arrays are laid out alike wherever they went."""

import pickle
from typing import Any

import numpy as np

# Bytes of which the address of a new array is a multiple.
ALIGNMENT = 16


class WorkerValue:
    """A value that a worker holds, with a size that the scheduler sees.

    Arrays that travelled may begin at any address and be read-only, and those with gaps lose the gaps. Each of these
    may change the last bits of a result. So arrays are laid out alike from the start, and again wherever they arrive.

    value : anything that cloudpickle writes
    size : bytes that the scheduler counts; None measures the value
    """

    __slots__ = ("size", "value")

    def __init__(self, value: Any, size: int | None = None):
        head, buffers = write(value)
        self.value = read(head, buffers)
        self.size = len(head) + sum(buffer.raw().nbytes for buffer in buffers) if size is None else size

    def __sizeof__(self) -> int:
        return self.size

    def __reduce_ex__(self, protocol: Any) -> tuple:
        head, buffers = write(self.value)
        # The scheduler speaks an older protocol, which knows no buffers.
        return _restore, (self.size, head, buffers if protocol >= 5 else [bytes(b) for b in buffers])


def _restore(size: int, head: bytes, buffers: list) -> WorkerValue:
    restored = WorkerValue.__new__(WorkerValue)
    restored.size, restored.value = size, read(head, buffers)
    return restored


def write(value: Any) -> tuple[bytes, list[pickle.PickleBuffer]]:
    """A value as bytes, and the memory of its arrays, without a copy."""
    import cloudpickle

    buffers: list[pickle.PickleBuffer] = []
    head = cloudpickle.dumps(value, protocol=5, buffer_callback=buffers.append)
    return head, [pickle.PickleBuffer(buffer.raw()) for buffer in buffers]


def read(head: bytes, buffers: list) -> Any:
    """The value that was written; its arrays are writeable and aligned, like any new array."""
    memory = [np.frombuffer(buffer, np.uint8) for buffer in buffers]
    return pickle.loads(head, buffers=[array if _is_like_new(array) else array.copy() for array in memory])


def _is_like_new(array: np.ndarray) -> bool:
    return array.flags.writeable and array.ctypes.data % ALIGNMENT == 0
