"""Topics of documents.

The 20 newsgroups as a sparse table, 50 topics of which words are present. NMF has tf-idf weights of the counts, LDA the
counts. A topic without two words is empty. Coherence is the normalised point-wise mutual information of the ten first
words of a topic in a document, from -1 to 1, the mean over pairs of words and over topics that are not empty. Accuracy
is that of a logistic regression that tells the twenty groups by what a model says of documents, standardised, in five
folds; the model is fitted to the training part only. hicorex and corextopic say log-odds of the labels, NMF and LDA the
weights of the topics. Seconds are of one fit, that of hicorex with its bounds and tests. Each model has a process of
its own.
"""

from collections.abc import Iterator
from itertools import combinations

import numpy as np
from harness import Block, Table, alone, apart, real_data, timed
from scipy.sparse import csr_array, load_npz, random_array

N_WORDS, N_FOLDS = 10, 5


def documents(quick: bool):
    """How often each word is in each document, and the group of each document."""
    if quick:
        counts = random_array((300, 200), density=0.05, format="csr", rng=0)
        return csr_array(counts * 10).astype(int), np.arange(300) % 4
    import pandas as pd

    folder = real_data.FOLDER / "news20_bow"
    return load_npz(folder / "counts.npz").tocsr(), pd.read_csv(folder / "labels.csv.gz")["group"].to_numpy()


def first_words(strength):
    """The first words of each topic, by strength (words, topics)."""
    order = np.argsort(-strength, axis=0, kind="stable")[:N_WORDS]
    return [words[strength[words, j] > 0].tolist() for j, words in enumerate(order.T)]


def of_hicorex(counts, n_topics, n_init):
    """The first words of each topic, the lower bound, and what gives features of documents."""
    from hicorex import Corex

    model = Corex(n_topics, n_states=2, n_init=n_init, random_state=0).fit(counts > 0)
    words = first_words(model.alpha_ * model.mutual_information_)
    return words, model.bounds_.lower, lambda counts: model.log_odds(counts > 0)[:, :, 0]


def of_corextopic(counts, n_topics):
    """The same of corextopic, whose objective is the bound."""
    from corextopic.corextopic import Corex
    from scipy.special import logit

    model = Corex(n_factors=2, n_states=2, n_hidden=n_topics, seed=0).fit(counts > 0)
    words = [[int(word[0]) for word in topic] for topic in model.get_topics(n_words=N_WORDS)]

    def log_odds(counts):
        return logit(np.clip(model.transform(counts > 0, details=True)[0], 1e-6, 1 - 1e-6))

    return words, float(model.tc), log_odds


def of_nmf(counts, n_topics):
    """The same of NMF on tf-idf, which has no bound."""
    from sklearn.decomposition import NMF
    from sklearn.feature_extraction.text import TfidfTransformer

    weights = TfidfTransformer().fit(counts)
    model = NMF(n_topics, init="nndsvd", max_iter=400).fit(weights.transform(counts))
    return first_words(model.components_.T), None, lambda counts: model.transform(weights.transform(counts))


def of_lda(counts, n_topics):
    """The same of LDA."""
    from sklearn.decomposition import LatentDirichletAllocation

    model = LatentDirichletAllocation(n_topics, random_state=0).fit(counts)
    return first_words(model.components_.T), None, model.transform


def once(model, quick, *arguments):
    """Seconds of a fit to all documents, the first words of each topic, and the bound."""
    counts, _ = documents(quick)
    model(counts[:100, :50], 2, *arguments[1:])  # compiles
    seconds, (topics, bound, _) = timed(model, counts, *arguments)
    return seconds, topics, bound


def accuracy(model, quick, *arguments):
    """The mean accuracy of the groups over folds."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import StratifiedKFold
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    counts, groups = documents(quick)
    right = []
    for train, test in StratifiedKFold(N_FOLDS, shuffle=True, random_state=0).split(counts, groups):
        features = model(counts[train], *arguments)[2]
        classifier = make_pipeline(StandardScaler(), LogisticRegression(max_iter=300))
        classifier.fit(features(counts[train]), groups[train])
        right.append(classifier.score(features(counts[test]), groups[test]))
    return float(np.mean(right))


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
    X = (documents(quick)[0] > 0).tocsc()
    models = {
        "hicorex": (of_hicorex, quick, n_topics, "auto"),
        "hicorex, `n_init=1`": (of_hicorex, quick, n_topics, 1),
        "hicorex, `n_init=4`": (of_hicorex, quick, n_topics, 4),
        "corextopic": (of_corextopic, quick, n_topics),
        "NMF on tf-idf": (of_nmf, quick, n_topics),
        "LDA": (of_lda, quick, n_topics),
    }
    yield (
        f"{X.shape[0]:,} documents x {X.shape[1]:,} words, of which {X.nnz:,} cells are not 0. As a dense table of one "
        f"byte a cell they would take {X.shape[0] * X.shape[1] / 1e6:.0f} MB."
    )
    rows = []
    for name, call in models.items():
        (seconds, topics, bound), _, peak = apart(once, *call)
        right = apart(accuracy, *call).result if "n_init" not in name else None
        topics = [topic for topic in topics if len(topic) > 1]
        mean = float(np.mean([coherence(topic, X) for topic in topics])) if topics else None
        rows.append([name, seconds, n_topics - len(topics), mean, right, bound, peak])
    columns = {"model": "", "seconds": ".0f", "empty topics": "", "coherence": ".3f", "accuracy": ".3f"}
    yield Table(columns | {"bound, nats": ".1f", "peak, MB": ".0f"}, rows)


if __name__ == "__main__":
    alone(measure)
