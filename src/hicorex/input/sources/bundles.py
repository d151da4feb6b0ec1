"""Many tasks of Dask as one, so that the scheduler has few to look after.

Dask is imported where it is used, because hicorex works without it.
"""

import pickle
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple
from uuid import uuid4

import numpy as np

from hicorex.support.compatibility import dask_nodes

if TYPE_CHECKING:
    from dask.delayed import Delayed

# The owner of what stays a task of its own.
NOBODY = -1


def even_groups(sizes: Sequence[int], most: int | None) -> list[slice]:
    """Consecutive items in at most ``most`` groups, even in the number of items and in the sum of their sizes.

    None is as many groups as items.
    """
    if most is None or len(sizes) <= most:
        return [slice(at, at + 1) for at in range(len(sizes))]
    shares = np.cumsum(1 / len(sizes) + np.asarray(sizes) / max(sum(sizes), 1))
    group = np.minimum(shares * most / shares[-1], most - 1).astype(int)
    firsts = np.flatnonzero(np.diff(group, prepend=-1))
    return [slice(a, b) for a, b in pairwise([*firsts.tolist(), len(sizes)])]


class Group(NamedTuple):
    """Tasks that become one.

    tasks : some of Dask's Delayed; those of all groups are of one graph, as ``to_delayed`` gives them
    arguments : of each, what its value goes into ``each`` with
    function : what makes one value of the results; None for an iterable that computes one after the other
    """

    tasks: "Sequence[Delayed]"
    arguments: Sequence[tuple]
    function: Callable[[list], Any] | None


def bundled(groups: Sequence[Group], each: Callable[..., Any]) -> "list[Delayed]":
    """One task for each group: function([each(value, *arguments), ...]), of one value after the other.

    What one group alone needs is computed within its task. What several groups need, and what workers hold, stays a
    task, and so does everything where all groups are of one task.
    """
    from dask.delayed import Delayed
    from dask.highlevelgraph import HighLevelGraph

    graph = dict(groups[0].tasks[0].dask)
    keys = [[task.key for task in group.tasks] for group in groups]
    nodes = dask_nodes(graph) if any(len(of_group) > 1 for of_group in keys) else {}
    owners = _owners(nodes, keys)
    within: list[dict] = [{} for _ in groups]
    for key, owner in owners.items():
        if owner != NOBODY:
            within[owner][key] = nodes[key]
    name = f"hicorex-rows-{uuid4().hex}"
    few: dict = {}
    others: set = set()  # what the tasks need, also of workers
    for at, (group, of_group, own) in enumerate(zip(groups, keys, within, strict=True)):
        results = [(each, key, *more) for key, more in zip(of_group, group.arguments, strict=True)]
        needed = [*of_group, *(key for node in own.values() for key in node.dependencies)]
        given = [key for key in dict.fromkeys(needed) if key not in own]
        few[f"{name}-{at}"] = _task(own, given, results, group.function)
        others.update(given)
    left = {key: task for key, task in graph.items() if owners.get(key, NOBODY) == NOBODY}
    whole = HighLevelGraph.from_collections(name, left | dask_nodes(few, others), dependencies=())
    return [Delayed(f"{name}-{at}", whole, layer=name) for at in range(len(groups))]


def _task(own: dict, given: list, results: list[tuple], function: Callable[[list], Any] | None) -> tuple:
    """What a graph says of a group that computes its own tasks from what is given."""
    import cloudpickle

    if not own:
        return function or list, results
    # As bytes, which the scheduler need not understand.
    values = (_Values, cloudpickle.dumps((own, given, results)), given)
    return values if function is None else (_applied, function, values)


def _owners(nodes: dict, keys: list[list]) -> dict[Any, int]:
    """By task, the group that alone needs it, or NOBODY."""
    owners: dict[Any, int] = {}
    for group, of_group in enumerate(keys):
        left = list(of_group)
        while left:
            key = left.pop()
            if key in nodes and owners.get(key) not in (group, NOBODY):
                owners[key] = NOBODY if key in owners else group
                left += nodes[key].dependencies
    return owners


def _applied(function: Callable[[list], Any], values: "_Values") -> Any:
    return function(list(values))


class _Values:
    """The results of a group: one after the other, each value held as long as another task needs it."""

    def __init__(self, written: bytes, values: list):
        self._written, self._values = written, values

    def __iter__(self) -> Iterator[Any]:
        own, given, results = pickle.loads(self._written)
        held = dict(zip(given, self._values, strict=True))
        uses = Counter(key for node in own.values() for key in node.dependencies)
        uses.update(key for _, key, *_ in results)

        def let_go(keys: Iterable[Any]) -> None:
            for key in keys:
                uses[key] -= 1
                if not uses[key]:
                    del held[key]

        for each, wanted, *more in results:
            left = [wanted]
            while left:
                key = left.pop()
                if key in held:
                    continue
                lacking = [other for other in own[key].dependencies if other not in held]
                if lacking:
                    left += [key, *lacking]
                else:
                    held[key] = own[key](held)
                    let_go(own[key].dependencies)
            yield each(held[wanted], *more)
            let_go([wanted])
