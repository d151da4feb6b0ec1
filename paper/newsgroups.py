"""Newsgroups: topics from a hundred words.

Each of 16,242 posts to newsgroups is a row that tells which of a hundred words are in it. Posts are of four classes:
computers, recreation, science, talk. An earlier paper (NIPS 2014) finds topics in such posts. Here ten factors are
fitted to the words, with one on top, and their topics are compared with the classes. To group the posts rather than
the words, one factor with as many states as there are groups takes the place of k-means.
"""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.cluster import KMeans
from sklearn.metrics import normalized_mutual_info_score

from hicorex import Corex, HierarchicalCorex, plot
from hicorex.plot.canvas import PALETTE

SOURCE = "news20_w100"


def topic_table(model: HierarchicalCorex, words: pd.DataFrame, classes: pd.Series) -> pd.DataFrame:
    """A row a factor of the first layer: its words, its posts, and the class that most of them are of."""
    layer, rows = model.layers_[0], []
    weights = layer.alpha_ * layer.mutual_information_
    for factor, states in enumerate(model.transform(words).T[: layer.n_factors_]):
        if not (layer.clusters_ == factor).any():
            continue
        order = np.argsort(-weights[:, factor])
        top = words.columns[order[layer.clusters_[order] == factor][:6]]
        # The topic is on in the state whose posts have more of these words.
        on = states == words[top].sum(axis=1).groupby(states).mean().idxmax()
        shares = classes[on].value_counts(normalize=True)
        rows.append((", ".join(top), int(on.sum()), shares.index[0], shares.iloc[0]))
    return pd.DataFrame(rows, columns=["words", "posts", "class", "class_share"])


def compare(words: pd.DataFrame, classes: pd.Series, sizes: list[int], n_seeds: int) -> pd.DataFrame:
    """Normalised mutual information of groups of posts with the classes, by number of groups, method and seed."""
    rows = []
    for size in sizes:
        for seed in range(n_seeds):
            factor = Corex(1, n_states=size, n_init=5, random_state=seed).fit_transform(words).ravel()
            means = KMeans(size, n_init=5, random_state=seed).fit_predict(words)
            for method, groups in (("one factor", factor), ("k-means", means)):
                rows.append((size, method, normalized_mutual_info_score(classes, groups)))
    return pd.DataFrame(rows, columns=["groups", "method", "nmi"])


def draw_comparison(table: pd.DataFrame, path: Path) -> None:
    """Every seed as a point, against the number of groups."""
    fig, ax = plt.subplots(figsize=(6.4, 4), layout="constrained")
    for (method, rows), colour, marker in zip(table.groupby("method"), PALETTE[1::-1], "so", strict=True):
        ax.plot(rows["groups"], rows["nmi"], marker, color=colour, label=method, alpha=0.7)
        ax.plot(rows.groupby("groups")["nmi"].median(), color=colour, lw=1)
    ax.set(xlabel="number of groups of posts", ylabel="normalised mutual information\nwith the four classes", ylim=0)
    ax.set_xticks(sorted(set(table["groups"])))
    ax.set_title("Posts grouped by one factor and by k-means; points are seeds, lines medians", fontsize=10)
    ax.legend()
    fig.savefig(path, dpi=110)
    plt.close(fig)


def run(out: Path, quick: bool, source: Path | None) -> list[dict]:
    """Find the topics, compare them and groups of posts with the classes, and draw both."""
    words = pd.read_csv(source / "news20_w100.csv.gz")
    if quick:
        words = words.sample(3000, random_state=0, ignore_index=True)
    classes = words.pop("_group")
    model = HierarchicalCorex((10, 1), n_states=2, n_init=1 if quick else 5, random_state=0).fit(words)
    topics = topic_table(model, words, classes)
    pure = int((topics["class_share"] > 0.5).sum())
    listed = "; ".join(f"{row.words} ({row.class_share:.0%} {row[3]} of {row.posts})" for row in topics.itertuples())

    ax = plot.graph(model, threshold=0.001)
    ax.set_title("A hundred words, ten topics and one factor on top")
    ax.get_figure().savefig(out / "newsgroups.png", dpi=110)
    plt.close(ax.get_figure())

    table = compare(words, classes, [4] if quick else [2, 4, 10], 1 if quick else 3)
    draw_comparison(table, out / "newsgroups_groups.png")
    low, high = (table.groupby(["method", "groups"])["nmi"].agg(f).unstack(0) for f in ("min", "max"))
    ranges = "; ".join(
        f"{size} groups: factor {low['one factor'][size]:.2f} to {high['one factor'][size]:.2f}, "
        f"k-means {low['k-means'][size]:.2f} to {high['k-means'][size]:.2f}"
        for size in low.index
    )
    return [
        {
            "id": "newsgroups:topics",
            "claim": "Factors of words are topics that people know.",
            "paper": "meaningful topics (earlier paper)",
            "measured": f"{pure} of {len(topics)} factors have more than half of their posts in one of the four "
            f"classes (criterion: three quarters of them; the largest class is {classes.value_counts().iloc[0]} of "
            f"{len(classes)} posts): {listed}",
            "reproduced": bool(pure >= 0.75 * len(topics)),
        },
        {
            "id": "newsgroups:classes",
            "claim": "Posts grouped by a factor agree with the classes better than those grouped by k-means.",
            "paper": "better than k-means and others on synthetic data (earlier paper)",
            "measured": f"normalised mutual information with the classes over seeds, {ranges}; the criterion is that "
            "the worst seed of the factor beats the best of k-means for every number",
            "reproduced": bool((low["one factor"] > high["k-means"]).all()),
        },
    ]
