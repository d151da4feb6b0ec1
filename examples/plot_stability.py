"""
Which factors come back
=======================

There are five groups, and a model that was told to find seven. Fits to halves of the samples tell which factors are
real: five come back every time, each with its variables. For the other two there is nothing to find; they stay empty.
"""

import matplotlib.pyplot as plt

from hicorex import Corex
from hicorex.datasets import make_latent_tree

X, truth = make_latent_tree(300, 40, 5, root_flip=0.4, flip=(0.1, 0.3), random_state=0)
model = Corex(7, n_states=2, random_state=0).fit(X)
found = model.stability(n_resamples=10)
order = model.clusters_.argsort(kind="stable")

fig, (ax, bars) = plt.subplots(1, 2, figsize=(8, 4), width_ratios=[3, 1], sharey=True, layout="constrained")
image = ax.imshow(found.links[order].T, aspect="auto", cmap="cividis", vmin=0, vmax=1)
ax.set(xlabel="variables, by their factor", ylabel="factor", yticks=range(7))
fig.colorbar(image, ax=ax, location="bottom", label="share of the fits in which they were together", shrink=0.8)
colours = ["#332288" if value >= 0.5 else "#cccccc" for value in found.factors]
bars.barh(range(7), found.factors, color=colours)
bars.axvline(0.5, color="#8c8c8c", lw=1, ls="--")
bars.set(xlim=(0, 1), xlabel="reproducibility")
bars.spines[["top", "right"]].set_visible(False)
plt.show()
