"""
Labels with most of a row missing
=================================

A model of thirty measurements labels patients of whom only a few are known. A missing cell is left out; it is not
filled in. With nine in ten cells gone, nine in ten labels are still the same.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer

from hicorex import Corex

X = load_breast_cancer().data
rng = np.random.default_rng(0)
order = rng.permutation(len(X))
train, new = X[order[:300]], X[order[300:]]
model = Corex(1, n_states=2, random_state=0).fit(train)
complete = model.transform(new)[:, 0]

gone = np.array([0, 0.25, 0.5, 0.75, 0.9])
same = []
for share in gone:
    holes = np.where(rng.random(new.shape) < share, np.nan, new)
    same.append((model.transform(holes)[:, 0] == complete).mean())
print(dict(zip(gone.tolist(), np.round(same, 2).tolist(), strict=True)))

fig, ax = plt.subplots(figsize=(6, 3.6), layout="compressed")
ax.plot(100 * gone, 100 * np.array(same), "o-", color="#332288")
ax.axhline(100 * max(complete.mean(), 1 - complete.mean()), color="#8c8c8c", lw=1, ls="--")
ax.text(0, 100 * max(complete.mean(), 1 - complete.mean()) + 1, "by the commoner label alone", color="#555555")
ax.set(xlabel="cells missing, %", ylabel="labels as with the whole row, %", ylim=(50, 102))
ax.spines[["top", "right"]].set_visible(False)
plt.show()
