"""
Modules of genes, and what they have to do with the patients
============================================================

Four hundred genes of 150 samples, made for this example: eight modules, two of which differ between subtypes of a
disease, and a hundred genes that belong nowhere. Modules first, subtypes afterwards.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from hicorex import Corex

rng = np.random.default_rng(0)
subtype = rng.integers(3, size=150)
activity = rng.normal(size=(150, 8))
activity[:, 0] += 2 * (subtype == 0)
activity[:, 1] += 2 * (subtype == 2)
module = np.r_[np.repeat(np.arange(8), [70, 60, 50, 40, 30, 20, 15, 15]), np.full(100, -1)]
genes = rng.normal(size=(150, 400))
genes[:, module >= 0] += 1.2 * activity[:, module[module >= 0]]

model = Corex(8, n_states=3, random_state=0).fit(genes)
print(pd.crosstab(module, model.clusters_, rownames=["module"], colnames=["factor"]))

# %%
# Which factors go with the subtype: the share of each subtype among the samples of each state.

labels = model.transform(genes)
tables = [pd.crosstab(labels[:, factor], subtype).to_numpy() for factor in range(8)]


def information(table):
    """Mutual information of two labels in nats."""
    p = table / table.sum()
    expected = p.sum(axis=1, keepdims=True) * p.sum(axis=0)
    return float((p * np.log(np.where(p > 0, p / expected, 1))).sum())


told = [information(table) for table in tables]
fig, (ax, bars) = plt.subplots(1, 2, figsize=(8.4, 3.8), width_ratios=[1.3, 1], layout="constrained")
order = np.argsort(np.where(module < 0, 99, module), kind="stable")
strength = (model.alpha_ * model.mutual_information_)[order].T
image = ax.imshow(strength, aspect="auto", cmap="cividis", vmin=0, vmax=0.5, interpolation="nearest")
ax.set(xlabel="genes, by their true module; the last hundred have none", ylabel="factor", yticks=range(8))
fig.colorbar(image, ax=ax, label="nats", location="top", shrink=0.6)
bars.barh(range(8), told, color=["#332288" if value > 0.1 else "#cccccc" for value in told])
bars.invert_yaxis()
bars.set(xlabel="nats that the factor tells of the subtype", yticks=range(8))
bars.spines[["top", "right"]].set_visible(False)
plt.show()
