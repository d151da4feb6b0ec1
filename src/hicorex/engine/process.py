"""What a process is set to: the threads of linear algebra, and the memory that it keeps once it is freed."""

import ctypes
import os
import sys
import threading
from contextlib import suppress
from functools import cache, lru_cache

from threadpoolctl import OpenBLASController, ThreadpoolController

# Options of mallopt, from malloc.h of the GNU C library.
M_TRIM_THRESHOLD, M_MMAP_THRESHOLD, M_ARENA_MAX = -1, -3, -8


class SingleThreadedBlas:
    """Linear algebra on one thread of this process, so that results do not depend on the number of threads.

    The limit is one for the whole process. If each engine restored the limit that it met, two engines that overlap
    would leave the limit behind. So the first engine sets it and the last one lifts it.
    """

    def __init__(self) -> None:
        self._lock, self._engines = threading.Lock(), 0
        if hasattr(os, "register_at_fork"):  # a forked process has none of the threads that might hold the lock
            os.register_at_fork(after_in_child=lambda: setattr(self, "_lock", threading.Lock()))

    def enter(self) -> None:
        """Count one more engine at work."""
        with self._lock:
            if not self._engines:
                _let_any_thread_limit()
                self._limit = _libraries(len(sys.modules)).limit(limits=1, user_api="blas")
                _let_any_thread_limit()
            self._engines += 1

    def leave(self) -> None:
        """Count one engine less."""
        with self._lock:
            self._engines -= 1
            if not self._engines:
                _let_any_thread_limit()
                self._limit.restore_original_limits()
                _let_any_thread_limit()

    @staticmethod
    def set_for_good() -> None:
        """Set the limit of a worker, whose threads would otherwise lift it for each other."""
        _libraries(len(sys.modules)).limit(limits=1, user_api="blas")


def _let_any_thread_limit() -> None:
    """Let any thread set the next limit: threadpoolctl from 3.7 on heeds only the thread that set the last."""
    if hasattr(OpenBLASController, "clear_controlling_thread"):
        OpenBLASController.clear_controlling_thread(force=True)


@lru_cache(maxsize=1)
def _libraries(n_modules: int) -> ThreadpoolController:
    """The libraries that are loaded. To look takes milliseconds: only again when there are more modules."""
    return ThreadpoolController()


single_threaded_blas = SingleThreadedBlas()


@cache
def keep_freed_memory() -> None:
    """Let the C library keep up to 64 MB of free memory, if all that forbids it is the default of Dask's nannies.

    With that default every temporary array would get new pages of memory, and a pass would take twice the time.
    """
    if os.environ.get("MALLOC_TRIM_THRESHOLD_") == "65536":
        _mallopt({M_MMAP_THRESHOLD: 2**25, M_TRIM_THRESHOLD: 2**26})


def return_freed_memory() -> None:
    """Have the C library give memory that is freed back to the system at once, in blocks of 4 MB or more."""
    _mallopt({M_ARENA_MAX: 2, M_MMAP_THRESHOLD: 2**22, M_TRIM_THRESHOLD: 2**22})


def _mallopt(options: dict[int, int]) -> None:
    with suppress(OSError, AttributeError):  # not the GNU C library
        mallopt = ctypes.CDLL(None).mallopt
        for option, value in options.items():
            mallopt(option, value)
