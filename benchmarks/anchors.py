"""Topics with anchors.

The 20 newsgroups as a sparse table of which words are present, with fewer topics than there are groups. Four of the
groups are themes to be found. Free topics have to find them by themselves; then three words anchor a topic for each.
AUC says how well the log-odds of a theme's topic tell the documents of its group from all others, the mean over the
four; for free topics it is that of the best topic for each. Coherence is the normalised point-wise mutual information
of the ten first words of these topics. ``corextopic`` anchors with a strength, and its total correlation grows with it;
it is a bound only where nothing is anchored. The last column is the bound of hicorex, evaluated on the documents.
Methods take turns in one process, on one thread; seconds are of the processor.
"""

from collections.abc import Iterator
from time import process_time

import numpy as np
from harness import Block, Table, alone, real_data
from scipy.sparse import csr_array
from sklearn.metrics import roc_auc_score
from topics import coherence, documents, first_words

# Words that are in fewer documents are left out.
LEAST_DOCUMENTS, N_TOPICS = 80, 10
THEMES = {
    "talk.politics.guns": ("gun", "guns", "firearms"),
    "rec.motorcycles": ("bike", "motorcycle", "ride"),
    "sci.med": ("medical", "disease", "patients"),
    "talk.politics.mideast": ("israel", "israeli", "arab"),
}
STRENGTHS = (1, 2, 5)


def of_hicorex(X, anchors):
    """First words of each topic, log-odds of the documents, and the objective and the bound."""
    from hicorex import Corex

    given = None if anchors is None else dict(enumerate(anchors))
    model = Corex(N_TOPICS, n_states=2, n_jobs=1, random_state=0).fit(X, anchors=given)
    words = first_words(model.alpha_ * model.mutual_information_)
    return words, model.log_odds(X)[:, :, 0], model.tc_, model.bounds_.lower


def of_corextopic(X, anchors, strength):
    """The same of corextopic, which has no bound beside its objective."""
    from corextopic.corextopic import Corex
    from scipy.sparse import csr_matrix
    from scipy.special import logit

    X = csr_matrix(X)  # anchors need the means of a matrix
    model = Corex(n_hidden=N_TOPICS, seed=0)
    given = {} if anchors is None else {"anchors": anchors, "anchor_strength": strength}
    model.fit(X, **given)
    words = [[int(word[0]) for word in topic] for topic in model.get_topics(n_words=10)]
    odds = logit(np.clip(model.transform(X, details=True)[0], 1e-6, 1 - 1e-6))
    return words, odds, float(model.tc), None


def agreement(odds, group):
    """How well the log-odds of each topic tell a group, in either direction, (m,)."""
    areas = np.array([roc_auc_score(group, column) for column in odds.T])
    return np.maximum(areas, 1 - areas)


def table_of(quick: bool):
    """The documents, the anchors of each theme as columns, and the group of each document for each theme."""
    counts, groups = documents(quick)
    present = csr_array(counts > 0)
    if quick:
        return present.astype(int), [[2 * i, 2 * i + 1] for i in range(4)], [groups == i for i in range(4)]
    vocabulary = (real_data.FOLDER / "news20_bow" / "vocab.txt").read_text().split()
    kept = np.flatnonzero(present.sum(axis=0) >= LEAST_DOCUMENTS)
    place = {vocabulary[i]: at for at, i in enumerate(kept.tolist())}
    anchors = [[place[word] for word in words] for words in THEMES.values()]
    return present[:, kept].astype(int), anchors, [groups == theme for theme in THEMES]


def measure(quick: bool) -> Iterator[Block]:
    if not quick and real_data.find("news20_bow") is None:
        yield f"Left out: {real_data.absent('news20_bow')}."
        return
    X, anchors, themes = table_of(quick)
    ways = {
        "hicorex, free": (of_hicorex, None),
        "hicorex, anchored": (of_hicorex, anchors),
        "corextopic, free": (of_corextopic, None, 1),
    }
    ways |= {f"corextopic, strength {s}": (of_corextopic, anchors, s) for s in STRENGTHS}
    of_hicorex(X[:300, :60], None)  # compiles
    rows = []
    columns = X.tocsc()
    for name, (method, *how) in ways.items():
        begun = process_time()
        words, odds, objective, bound = method(X, *how)
        seconds = process_time() - begun
        areas = [agreement(odds, group) for group in themes]
        own = [int(of.argmax()) if how[0] is None else k for k, of in enumerate(areas)]
        coherent = float(np.mean([coherence(words[j], columns) for j in own if len(words[j]) > 1] or [np.nan]))
        each = [float(of[j]) for of, j in zip(areas, own, strict=True)]
        rows.append([name, seconds, float(np.mean(each)), each, coherent, objective, bound])
    yield f"{X.shape[0]:,} documents x {X.shape[1]:,} words, {N_TOPICS} topics."
    numbers = {"seconds": ".0f", "AUC": ".3f", "of each theme": ".2f", "coherence": ".3f", "objective": ".1f"}
    yield Table({"model": ""} | numbers | {"bound, nats": ".1f"}, rows)


if __name__ == "__main__":
    alone(measure)
