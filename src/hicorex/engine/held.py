"""What workers of a cluster hold: values whose memory is the same wherever they went."""

import pickle
from typing import Any

import numpy as np

# Bytes of which the address of a new array is a multiple.
ALIGNMENT = 16


class Held:
    """What a worker holds, of a size that the scheduler sees, and in memory that is the same wherever it went.

    Arrays that travelled may begin anywhere and be read-only, and those with gaps lose them. Any of these may change
    the last bits of what is computed from them.
    """

    __slots__ = ("size", "value")

    def __init__(self, value: Any, size: int | None = None):
        head, buffers = write(value)
        self.value = read(head, buffers)
        self.size = len(head) + sum(buffer.raw().nbytes for buffer in buffers) if size is None else size

    def __sizeof__(self) -> int:
        return self.size

    def __reduce_ex__(self, protocol) -> tuple:
        head, buffers = write(self.value)
        # The scheduler speaks an older protocol, which knows no buffers.
        return _restore, (self.size, head, buffers if protocol >= 5 else [bytes(own) for own in buffers])


def _restore(size: int, head: bytes, buffers: list) -> Held:
    held = Held.__new__(Held)
    held.size, held.value = size, read(head, buffers)
    return held


def write(value: Any) -> tuple[bytes, list[pickle.PickleBuffer]]:
    """A value as bytes, and the memory of its arrays, which is not copied."""
    import cloudpickle

    buffers: list[pickle.PickleBuffer] = []
    head = cloudpickle.dumps(value, protocol=5, buffer_callback=buffers.append)
    return head, [pickle.PickleBuffer(buffer.raw()) for buffer in buffers]


def read(head: bytes, buffers: list) -> Any:
    """The value that was written, its arrays in memory like that of any new array."""
    memory = [np.frombuffer(buffer, np.uint8) for buffer in buffers]
    return pickle.loads(
        head, buffers=[own if own.flags.writeable and _begins_well(own) else own.copy() for own in memory]
    )


def _begins_well(array: np.ndarray) -> bool:
    return array.ctypes.data % ALIGNMENT == 0
