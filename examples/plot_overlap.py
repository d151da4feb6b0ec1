"""
A variable may belong to two groups
===================================

The last hundred columns are the sum of two hidden coins, so they belong to both. Clustering has to put each of them on
one side. hicorex gives both links.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.cluster import KMeans

from hicorex import Corex
from hicorex.datasets import make_overlapping_clusters

X, truth = make_overlapping_clusters(random_state=0)
order = np.argsort(truth.clusters, kind="stable")
names = ["copies of\ncoin A", "copies of\ncoin B", "copies of\ncoin C", "sums of\nA and B"]

model = Corex(n_factors=3, n_states=2, random_state=0).fit(X)
clusters = KMeans(3, n_init=10, random_state=0).fit_predict(((X - X.mean(0)) / X.std(0)).T)
one_each = np.eye(3)[clusters]

fig, axes = plt.subplots(2, 1, figsize=(7, 4), sharex=True, layout="constrained")
shown = {"k-means: one group each": one_each, "hicorex: how far each column belongs to each factor": model.alpha_}
for ax, (title, links) in zip(axes, shown.items(), strict=True):
    image = ax.imshow(links[order].T, aspect="auto", cmap="cividis", vmin=0, vmax=1, interpolation="nearest")
    ax.set(yticks=range(3), ylabel="group" if "means" in title else "factor")
    ax.set_title(title, loc="left", size=11)
    for edge in (100, 200, 300):
        ax.axvline(edge - 0.5, color="white", lw=1.5)
axes[-1].set_xticks([50, 150, 250, 350], names)
fig.colorbar(image, ax=axes, label="alpha")
plt.show()
