"""
Thirty measurements, five things measured
=========================================

Cell nuclei of 569 patients, thirty measurements each. The map shows which of them tell the same. The diagnosis was held
back, and the factor of size tells most of it.
"""

import matplotlib.pyplot as plt
import pandas as pd
from sklearn.datasets import load_breast_cancer

from hicorex import HierarchicalCorex, plot

cells = load_breast_cancer(as_frame=True)
X = cells.data
model = HierarchicalCorex((5, 1), n_states=3, random_state=0).fit(X)

measure = {name: name.removeprefix("mean ").removeprefix("worst ").removesuffix(" error") for name in X}
plot.graph(model, groups=measure, threshold=0.05)
plt.show()

# %%
# How many of the patients in each state of the first factor had a malignant tumour:

state = model.transform(X)[:, 0]
malignant = pd.Series(cells.target == 0).groupby(state).agg(["mean", "size"])
print(malignant.round(2))

fig, ax = plt.subplots(figsize=(5, 2.6), layout="compressed")
ax.barh([f"state {s}, {n} patients" for s, n in malignant["size"].items()], malignant["mean"], color="#882255")
ax.set(xlim=(0, 1), xlabel="share with a malignant tumour")
ax.spines[["top", "right"]].set_visible(False)
plt.show()
