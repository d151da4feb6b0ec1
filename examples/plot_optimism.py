"""
A figure that does not flatter
==============================

On its own samples every model looks better than it is, the more so the fewer they are. The cross-fitted bound is of
samples that the models have not seen: it comes up to the truth from below.
"""

import matplotlib.pyplot as plt
import numpy as np

from hicorex import Corex
from hicorex.datasets import make_latent_tree

all_samples, truth = make_latent_tree(20_000, 60, 5, root_flip=0.5, random_state=1)
sizes = [50, 100, 200, 400, 800, 1600]
own, honest, error = [], [], []
for size in sizes:
    model = Corex(5, n_states=2, random_state=0).fit(all_samples[:size])
    own.append(model.bounds_.lower)
    honest.append(model.cross_fitted_.lower)
    error.append(model.cross_fitted_.lower_stderr)

fig, ax = plt.subplots(figsize=(6.4, 4), layout="compressed")
ax.axhline(truth.total_correlation, color="#8c8c8c", lw=1)
ax.text(sizes[-1], truth.total_correlation, "truth ", va="bottom", ha="right", color="#555555")
ax.plot(sizes, own, "o-", color="#cc6677")
ax.errorbar(sizes, honest, error, fmt="o-", color="#332288", capsize=3)
ax.text(sizes[0], own[0], "  on the samples of the fit", color="#cc6677", va="center")
ax.text(sizes[1], honest[1] - 0.5, "  cross-fitted, with standard errors", color="#332288", va="top")
ax.set(xscale="log", xlabel="samples", ylabel="nats explained")
ax.set_xticks(sizes, [str(size) for size in sizes])
ax.minorticks_off()
ax.spines[["top", "right"]].set_visible(False)
plt.show()
print(np.round(own, 2), np.round(honest, 2), round(truth.total_correlation, 2))
