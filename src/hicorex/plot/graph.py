"""The hierarchy of variables and factors as a picture."""

from bisect import bisect, insort
from numbers import Real
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
from matplotlib.collections import LineCollection
from matplotlib.lines import Line2D

from hicorex.exceptions import HicorexError
from hicorex.findings.graph import Graph, graph_of
from hicorex.findings.groups import Grouping, groupings_of
from hicorex.findings.layout import Layout, arrange
from hicorex.plot.canvas import MARKERS, axes_or_new, check_model, figure_of, label_of, points_of, style_of
from hicorex.support.names import number_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from hicorex.estimators.base import LayeredEstimator


# Of the factors; what is written on them is white.
DISC = "#4d4d4d"
# From a factor to what belongs to it, a link bends like this.
STEPS = np.linspace(0, 1, 16)
BEND = STEPS**2 * (3 - 2 * STEPS)
# In points: names, the room that a line of them needs, and the widths of a sign, of links and of nodes.
SMALLEST, LARGEST, LEADING, SIGN = 3.6, 9.0, 1.15, 0.58
# Names take up this much of the radius or height at most; a page's rings have this radius, in points.
MOST_FOR_NAMES, PAGE_RADIUS = 0.4, 290
GAP = 4.5
WIDEST, THINNEST = 3.5, 0.15
LEAST_NODE, LARGEST_NODE, NUMBER_SIZE = 9.0, 32.0, 6.0
# Of the name of a factor, which stands where others have a number.
MOST_LETTERS = 4


def graph(
    model_or_graph: "LayeredEstimator | Graph",
    *,
    groups: Any = None,
    threshold: float = 0.0,
    layout: Literal["radial", "layered"] = "radial",
    labels: bool = True,
    ax: "Axes | None" = None,
) -> "Axes":
    """Draw the hierarchy: variables on the outside, each factor next to those that belong to it most.

    The width of a link is alpha x mutual information, the area of a factor what it explains; the number on it is
    that of its name, layer1_factor0 and so on, its layer the ring or row. Variables have the colour of their
    group, or of the factor that they belong to most; those without a significant link are hollow. Where not all
    names fit, those of the most strongly linked variables are written.

    Parameters
    ----------
    model_or_graph : Corex, HierarchicalCorex or Graph
        A fitted model, or the nodes and edges of any other, as of ``hicorex.findings.graph``.
    groups : mapping, path or None, default=None
        The group of each variable by its name, or a CSV file with a column of names and one of groups.
    threshold : float, default=0.0
        Links of less weight, in nats, are left out, and with them what they alone connect.
    layout : "radial" or "layered", default="radial"
    labels : bool, default=True
        Whether the names of variables are written.
    ax : matplotlib Axes, default=None

    Returns
    -------
    ax : matplotlib Axes

    Examples
    --------
    >>> from hicorex import Corex, plot
    >>> from hicorex.datasets import make_latent_tree
    >>> X, truth = make_latent_tree(200, 30, 3, random_state=0)
    >>> model = Corex(3, n_states=2, n_init=4, random_state=0).fit(X)
    >>> ax = plot.graph(model, groups={f"x{i}": f"group {c}" for i, c in enumerate(truth.clusters)})
    >>> len(ax.get_legend().get_texts())
    3
    """
    if not isinstance(model_or_graph, Graph):
        check_model(model_or_graph)
    if layout not in ("radial", "layered"):
        raise HicorexError(f'layout is {layout!r}; give "radial" or "layered".')
    if not isinstance(threshold, Real) or not threshold >= 0:
        raise HicorexError(f"threshold is {threshold!r}; give a number of nats, 0 or more.")
    whole = model_or_graph if isinstance(model_or_graph, Graph) else graph_of(model_or_graph)
    shown = _strong_links(whole, float(threshold))
    variables = [node.name for node in whole.nodes if node.layer == 0]
    grouping = next(iter(groupings_of(variables, groups)), None)
    columns = _columns_shown(whole, shown)
    linked = np.ones(len(columns), bool)
    if not isinstance(model_or_graph, Graph):
        linked = model_or_graph.fitted_.layers[0].clusters[columns] >= 0
    places, number = _arranged(shown, None if grouping is None else grouping.number[columns])
    ax = _axes(ax, places, layout == "radial", grouping is not None)
    if grouping is not None:
        _draw_legend(ax, grouping, number[places.level == 0])
    names = [label_of(node.name) for node in shown.nodes if node.layer == 0] if labels else []
    sizes = _set_limits(ax, max(map(len, names), default=0), _n_slots(places), layout == "radial")
    picture = Picture(ax, shown, places, number, layout == "radial", sizes)
    _draw_links(picture)
    _draw_variables(picture, linked)
    _draw_factors(picture)
    _draw_names(picture, names)
    return ax


class Sizes(NamedTuple):
    """How large things are.

    name : the height of a name, in points
    room : that a line of names needs, the whole ring or row being 1
    gap : between a variable and its name, in units of the axes
    unit : by how much nodes and links are larger than in a picture that fills a page
    length : of the row, or of the radius of the ring, in points
    """

    name: float
    room: float
    gap: float
    unit: float
    length: float


class Picture(NamedTuple):
    """What is drawn, and how.

    graph : the nodes and links
    places : where the nodes are
    number : the group of each node, -1 for none, (n_nodes,)
    radial : whether variables form a ring, not a row
    """

    ax: "Axes"
    graph: Graph
    places: Layout
    number: np.ndarray
    radial: bool
    sizes: Sizes

    def points(self) -> tuple[np.ndarray, np.ndarray]:
        """The coordinates of the nodes."""
        if not self.radial:
            return self.places.layered()
        radius, angle = self.places.polar()
        return radius * np.cos(angle), radius * np.sin(angle)


def _strong_links(whole: Graph, threshold: float) -> Graph:
    """The part of a graph that is drawn, which must have links."""
    if not whole.edges:
        raise HicorexError("There are no links, so that nothing is explained; there is nothing to draw.")
    shown = whole.select(threshold)
    if not shown.edges:
        most = max(edge.weight for edge in whole.edges)
        raise HicorexError(f"No link has a weight of {threshold:g} nats or more; the largest is {most:.3g}.")
    return shown


def _columns_shown(whole: Graph, shown: Graph) -> list[int]:
    """The columns of the variables that are drawn."""
    at = {node.id: i for i, node in enumerate(whole.nodes)}
    return [at[node.id] for node in shown.nodes if node.layer == 0]


def _arranged(shown: Graph, groups: np.ndarray | None) -> tuple[Layout, np.ndarray]:
    """The places of the nodes, and the group of each: those given for the variables, or their factors."""
    variable = np.array([node.layer == 0 for node in shown.nodes])
    number = np.full(len(shown.nodes), -1)
    if groups is not None:
        number[variable] = groups
    places = arrange(shown, number)
    if groups is None:
        _, number[variable] = np.unique(places.place[places.home[variable]], return_inverse=True)
    return places, number


def _n_slots(places: Layout) -> float:
    """The number of variables that the ring or the row has room for."""
    return 1 / np.diff(np.unique(places.place[places.level == 0])).min(initial=1)


def _axes(ax: "Axes | None", places: Layout, radial: bool, legend: bool) -> "Axes":
    if radial:
        ax = axes_or_new(ax, 9.0 + 2.0 * legend, 9.0)
        ax.set_aspect("equal")
    else:
        ax = axes_or_new(ax, float(np.clip(_n_slots(places) * 1.2 * SMALLEST * LEADING / 72, 6.4, 40)), 5.0)
    ax.axis("off")
    return ax


def _set_limits(ax: "Axes", longest: int, n_slots: float, radial: bool) -> Sizes:
    """Set limits that leave room for names, the longest of this many signs, as large as they can be."""
    figure_of(ax).draw_without_rendering()  # the layout of the figure settles how large the axes are
    width, height = points_of(ax)
    signs = SIGN * (longest + 1.5)
    if radial:
        half = min(width, height) / 2
        size = min(2 * np.pi * half / (n_slots * LEADING + 2 * np.pi * signs), MOST_FOR_NAMES * half / signs)
        size = float(np.clip(size, SMALLEST, LARGEST))
        radius = max(half - size * signs, half / 4)
        ax.set(xlim=(-half / radius, half / radius), ylim=(-half / radius, half / radius))
        room = size * LEADING / (2 * np.pi * radius)
        return Sizes(size, room, GAP / radius, np.clip(radius / PAGE_RADIUS, 0.4, 2), radius)
    size = float(np.clip(min(width / (n_slots * LEADING), MOST_FOR_NAMES * height / signs), SMALLEST, LARGEST))
    row = max(height - size * signs, height / 4)
    ax.set(xlim=(-0.02, 1.02), ylim=(-size * signs / row * 1.1, 1.1))
    return Sizes(size, size * LEADING / width, GAP / row, np.clip(row / PAGE_RADIUS, 0.4, 2), width)


def _draw_links(picture: Picture) -> None:
    """A curve for each link, the strongest on top."""
    places = picture.places
    below, above, weight = picture.graph.links()
    rising = np.argsort(weight, kind="stable")
    below, above, weight = below[rising], above[rising], weight[rising]
    if picture.radial:
        radius, angle = places.polar()
        turn = (angle[below] - angle[above] + np.pi) % (2 * np.pi) - np.pi
        turn[radius[above] == 0] = 0  # from the middle, straight out
        theta = angle[below, None] - turn[:, None] * (1 - BEND)
        rho = radius[above, None] + (radius[below] - radius[above])[:, None] * STEPS
        x, y = rho * np.cos(theta), rho * np.sin(theta)
    else:
        across, up = places.layered()
        x = across[above, None] + (across[below] - across[above])[:, None] * BEND
        y = up[above, None] + (up[below] - up[above])[:, None] * STEPS
    home = places.home[below] == above
    picture.ax.add_collection(
        LineCollection(
            list(np.stack([x, y], axis=2)),
            linewidths=np.maximum(WIDEST * picture.sizes.unit * weight / weight.max(), THINNEST),
            colors=[style_of(picture.number[i])[0] for i in below],
            alpha=np.where(home, 0.65, 0.3),
            capstyle="round",
            zorder=1,
        )
    )


def _draw_variables(picture: Picture, linked: np.ndarray) -> None:
    """Variables as small signs, hollow if no link is significant."""
    x, y = picture.points()
    variables, unit = picture.places.level == 0, picture.sizes.unit
    size = np.clip(2000 / variables.sum(), 4, 36) * unit
    markers = np.array([style_of(n)[1] for n in picture.number])
    for marker in MARKERS:
        some = np.flatnonzero(variables & (markers == marker))
        if some.size:
            colours = [style_of(n)[0] for n in picture.number[some]]
            inner = np.where(linked[some], colours, "white")
            picture.ax.scatter(
                x[some], y[some], size, inner, marker=marker, edgecolors=colours, linewidths=0.8 * unit, zorder=3
            )


def _draw_factors(picture: Picture) -> None:
    """Factors as discs with their numbers."""
    x, y = picture.points()
    level, sizes = picture.places.level, picture.sizes
    factors = np.flatnonzero(level > 0)
    explains = np.array([picture.graph.nodes[i].information for i in factors])
    width = np.maximum(LARGEST_NODE * sizes.unit * np.sqrt(explains / max(explains.max(), 1e-12)), LEAST_NODE)
    for k in range(1, level.max() + 1):  # where many stand close, they are smaller
        of_layer = level[factors] == k
        room = _usual_distance(picture.places, k, picture.radial) * sizes.length
        width[of_layer] *= min(1, room / width[of_layer].max(initial=room))
    picture.ax.scatter(x[factors], y[factors], width**2, DISC, edgecolors="white", linewidths=0.8, zorder=4)
    for i, disc in zip(factors, width, strict=True):
        size = min(NUMBER_SIZE, disc / 1.5)
        if size >= SMALLEST:
            number = label_of(number_of(picture.graph.nodes[i].name)[:MOST_LETTERS])
            picture.ax.text(x[i], y[i], number, color="white", size=size, ha="center", va="center_baseline", zorder=5)


def _usual_distance(places: Layout, level: int, radial: bool) -> float:
    """The usual distance of neighbouring factors of a layer, in radii of the ring or lengths of the row."""
    along = np.sort((places.place if radial else places.layered()[0])[places.level == level])
    if not radial:
        return float(np.median(np.diff(along))) if along.size > 1 else 1.0
    radius = 1 - level / max(places.depth, 1)
    return float(np.median(np.diff([*along, along[0] + 1]))) * 2 * np.pi * radius if radius else 1.0


def _draw_legend(ax: "Axes", grouping: Grouping, number: np.ndarray) -> None:
    """The groups that are in the picture, and how many variables each has in it."""
    names = [*enumerate(grouping.groups), (-1, "no group")]
    handles = [
        Line2D([], [], color=style_of(i)[0], marker=style_of(i)[1], linestyle="", label=f"{label_of(name, 32)} ({n})")
        for i, name in names
        if (n := np.count_nonzero(number == i))
    ]
    ax.legend(
        handles=handles,
        title=label_of(grouping.title, 32),
        loc="center left",
        bbox_to_anchor=(1, 0.5),
        borderaxespad=1,
        frameon=False,
        fontsize=8,
        title_fontsize=9,
    )


def _draw_names(picture: Picture, names: list[str]) -> None:
    """The names of the variables that there is room for."""
    if not names:
        return
    places, sizes = picture.places, picture.sizes
    variables = np.flatnonzero(places.level == 0)
    x, y = picture.points()
    along = (places.place if picture.radial else x)[variables]
    strength = [picture.graph.nodes[i].information for i in variables]
    for at in _that_fit(along, strength, sizes.room, around=picture.radial):
        i = variables[at]
        if picture.radial:
            degrees = 90 - 360 * places.place[i]
            left = x[i] < -1e-9
            point = ((1 + sizes.gap) * x[i], (1 + sizes.gap) * y[i])
            turned = {"rotation": degrees + 180 * left, "ha": "right" if left else "left", "va": "center"}
        else:
            point = (x[i], -sizes.gap)
            turned = {"rotation": 90, "ha": "center", "va": "top"}
        picture.ax.text(
            *point, names[at], size=sizes.name, rotation_mode="anchor" if picture.radial else None, **turned
        )


def _that_fit(place: np.ndarray, strength: list[float], room: float, around: bool) -> list[int]:
    """Which names have room along a row, or around a ring of length 1, the stronger before the weaker."""
    taken: list[float] = []
    chosen = []
    for i in np.argsort(-np.asarray(strength), kind="stable").tolist():
        at = bisect(taken, place[i])
        beside = taken[max(at - 1, 0) : at + 1]
        if around and taken:
            beside += [taken[-1] - 1, taken[0] + 1]
        if all(abs(other - place[i]) >= room * 0.999 for other in beside):
            insort(taken, place[i])
            chosen.append(i)
    return chosen
