"""Topics of documents.

The 20 newsgroups as a sparse table, 50 topics of which words are present. Coherence is the normalised point-wise mutual
information of the ten first words of a topic in a document, from -1 to 1, the mean over pairs of words and over topics
of two words or more. Seconds are of the whole fit with its bounds and tests. Each model has a process of its own.
hicorex leaves factors empty that it does not need; corextopic splits common words over more topics.
"""

from collections.abc import Iterator
from itertools import combinations

import numpy as np
from harness import Block, Table, alone, apart, real_data, timed
from scipy.sparse import load_npz, random_array

N_WORDS = 10


def documents(quick: bool):
    """Which words are in which document."""
    if quick:
        return random_array((300, 200), density=0.05, format="csr", rng=0) > 0
    return load_npz(real_data.FOLDER / "news20_bow" / "counts.npz").tocsr() > 0


def of_hicorex(quick, n_topics, n_init):
    """Seconds, the first words of each topic, and the lower bound."""
    from hicorex import Corex

    X = documents(quick)
    Corex(3, n_init=1, random_state=0).fit(X[:500, :2000])  # compiles
    seconds, model = timed(Corex(n_topics, n_init=n_init, random_state=0).fit, X)
    strength = model.alpha_ * model.mutual_information_
    order = np.argsort(-strength, axis=0, kind="stable")[:N_WORDS]
    topics = [words[strength[words, j] > 0].tolist() for j, words in enumerate(order.T)]
    return seconds, topics, model.bounds_.lower


def of_corextopic(quick, n_topics):
    """The same of corextopic, whose objective is the bound."""
    from corextopic.corextopic import Corex

    seconds, model = timed(Corex(n_hidden=n_topics, seed=0).fit, documents(quick))
    topics = [[int(word[0]) for word in topic] for topic in model.get_topics(n_words=N_WORDS)]
    return seconds, topics, float(model.tc)


def coherence(topic, X):
    """Mean normalised point-wise mutual information of all pairs of words in a document."""
    present = X[:, topic].astype(float)
    together = (present.T @ present).toarray() / X.shape[0]
    values = []
    for i, j in combinations(range(len(topic)), 2):
        both = together[i, j]
        values.append(np.log(both / together[i, i] / together[j, j]) / -np.log(both) if both > 0 else -1.0)
    return float(np.mean(values))


def measure(quick: bool) -> Iterator[Block]:
    if not quick and real_data.find("news20_bow") is None:
        yield f"Left out: {real_data.absent('news20_bow')}."
        return
    n_topics = 5 if quick else 50
    X = documents(quick).tocsc()
    models = {
        "hicorex, `n_init=1`": (of_hicorex, quick, n_topics, 1),
        "hicorex, `n_init=4`": (of_hicorex, quick, n_topics, 4),
        "corextopic": (of_corextopic, quick, n_topics),
    }
    yield (
        f"{X.shape[0]:,} documents x {X.shape[1]:,} words, of which {X.nnz:,} cells are not 0. As a dense table of one "
        f"byte a cell they would take {X.shape[0] * X.shape[1] / 1e6:.0f} MB."
    )
    rows = []
    for name, call in models.items():
        (seconds, topics, bound), _, peak = apart(*call)
        topics = [topic for topic in topics if len(topic) > 1]
        mean = float(np.mean([coherence(topic, X) for topic in topics])) if topics else None
        rows.append([name, seconds, len(topics), mean, bound, peak])
    columns = {"model": "", "seconds": ".0f", "topics in use": "", "coherence": ".3f", "bound, nats": ".1f"}
    yield Table(columns | {"peak, MB": ".0f"}, rows)


if __name__ == "__main__":
    alone(measure)
