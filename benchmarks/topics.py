"""Topics of documents: seconds, coherence and peak memory of hicorex and corextopic on the same sparse table.

Run as ``python benchmarks/topics.py FOLDER [n_topics]``, with a folder that holds ``counts.npz``, a scipy sparse matrix
of documents and words, and ``vocab.txt``. Each model runs in a process of its own, after a small fit that compiles.
Coherence is the normalised point-wise mutual information of the ten first words of a topic in a document, -1 to 1, the
mean over pairs of words and over topics that are not empty.
"""

import json
import subprocess
import sys
from itertools import combinations
from pathlib import Path

import numpy as np
from scipy.sparse import load_npz

N_WORDS = 10
SHARED = """
import json, resource, sys, warnings
from time import perf_counter
import numpy as np
from scipy.sparse import load_npz
warnings.simplefilter("ignore")
X, m = load_npz(sys.argv[1]).tocsr() > 0, int(sys.argv[2])
"""
HICOREX = """
from hicorex import Corex
from hicorex.findings.graph import ranked_links
Corex(3, n_init=1, random_state=0).fit(X[:500, :2000])
begin = perf_counter()
model = Corex(m, n_init={n_init}, random_state={seed}).fit(X)
seconds = perf_counter() - begin
words, factor = ranked_links(model)
topics = [words[factor == j][:10].tolist() for j in range(m)]
"""
COREXTOPIC = """
from corextopic.corextopic import Corex
begin = perf_counter()
model = Corex(n_hidden=m, seed={seed}).fit(X)
seconds = perf_counter() - begin
topics = [[int(word[0]) for word in topic] for topic in model.get_topics(n_words=10)]
"""
REPORT = """
print(json.dumps([seconds, topics, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024]))
"""
MODELS = {
    "hicorex, n_init=1": HICOREX.format(n_init=1, seed=0),
    "hicorex, n_init=4": HICOREX.format(n_init=4, seed=0),
    "corextopic": COREXTOPIC.format(seed=0),
}


def coherence(topic, X):
    """Mean normalised point-wise mutual information of all pairs of words in a document."""
    own = X[:, topic].astype(float)
    together = (own.T @ own).toarray() / X.shape[0]
    values = []
    for i, j in combinations(range(len(topic)), 2):
        both = together[i, j]
        values.append(np.log(both / together[i, i] / together[j, j]) / -np.log(both) if both > 0 else -1.0)
    return float(np.mean(values))


def main() -> None:
    if len(sys.argv) < 2 or not (Path(sys.argv[1]) / "counts.npz").exists():
        print("Skipped: give the folder of counts.npz and vocab.txt.")
        return
    folder, n_topics = Path(sys.argv[1]), sys.argv[2] if len(sys.argv) > 2 else "50"
    X = load_npz(folder / "counts.npz").tocsc() > 0
    vocabulary = (folder / "vocab.txt").read_text().split("\n")
    print(f"{X.shape[0]} documents, {X.shape[1]} words, {X.nnz} cells, {n_topics} topics\n")
    print("| model | seconds | topics in use | coherence | peak, MB |")
    print("|---|---|---|---|---|")
    read = {}
    for name, script in MODELS.items():
        run = [sys.executable, "-c", SHARED + script + REPORT, str(folder / "counts.npz"), n_topics]
        out = subprocess.run(run, capture_output=True, text=True, check=True).stdout
        seconds, topics, peak = json.loads(out.splitlines()[-1])
        topics = read[name] = [topic for topic in topics if len(topic) > 1]
        npmi = [coherence(topic, X) for topic in topics]
        print(f"| {name} | {seconds:.1f} | {len(topics)} | {np.mean(npmi):.3f} | {peak:.0f} |", flush=True)
    for name, topics in read.items():
        print(f"\n{name}:\n")
        for topic in topics:
            print(f"- {coherence(topic, X):.2f} {' '.join(vocabulary[word] for word in topic)}")


if __name__ == "__main__":
    main()
