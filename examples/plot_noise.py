"""
Nothing is found where nothing is
=================================

Two tables of the same shape: one has groups, the other is noise. A principal component analysis gives components for
both, and so does any clustering. hicorex tests every link, and in noise it keeps none.
"""

import matplotlib.pyplot as plt
import numpy as np

from hicorex import Corex
from hicorex.datasets import make_latent_tree

groups, _ = make_latent_tree(400, 60, 4, root_flip=0.5, flip=(0.2, 0.35), random_state=0)
noise = np.random.default_rng(0).integers(2, size=groups.shape)

fig, axes = plt.subplots(1, 2, figsize=(8, 3.6), sharey=True, layout="compressed")
for ax, (name, X) in zip(axes, {"groups": groups, "noise": noise}.items(), strict=True):
    model = Corex(4, n_states=2, random_state=0).fit(X)
    smallest = np.sort(model.link_pvalues_.min(axis=1))
    linked = int((model.clusters_ >= 0).sum())
    ax.semilogy(np.maximum(smallest, 1e-40), "o", ms=4, color="#332288" if linked else "#8c8c8c")
    ax.set(xlabel="variables, sorted", ylim=(1e-42, 5))
    ax.set_title(f"{name}: {linked} of 60 variables linked", loc="left", size=11)
    ax.spines[["top", "right"]].set_visible(False)
    print(f"{name}: cross-fitted {model.cross_fitted_.lower:.2f} nats, error {model.cross_fitted_.lower_stderr:.2f}")
axes[0].set_ylabel("smallest p-value of its links")
plt.show()
