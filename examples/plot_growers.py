"""
Groups that nobody told it of
=============================

Thirteen measurements of 178 wines. The model never sees who grew a wine. The states of its first factor are the growers
all the same.
"""

import matplotlib.pyplot as plt
import pandas as pd
from sklearn.datasets import load_wine

from hicorex import Corex

X, grower = load_wine(return_X_y=True, as_frame=True)
model = Corex(n_factors=2, n_states=3, random_state=0).fit(X)
state = model.transform(X)[:, 0]
print(pd.crosstab(state, grower, rownames=["state"], colnames=["grower"]))

# %%
# Two of the measurements that the factor is made of. The colour is the state that the model found, the letter
# the grower.

colours = ["#332288", "#cc6677", "#117733"]
fig, ax = plt.subplots(figsize=(6.4, 4.6), layout="compressed")
for row, (x, y) in enumerate(zip(X["flavanoids"], X["color_intensity"], strict=True)):
    ax.text(x, y, "ABC"[grower[row]], color=colours[state[row]], ha="center", va="center", weight="bold", size=9)
ax.set(xlim=(0.1, 5.4), ylim=(0.8, 13.5), xlabel="flavanoids", ylabel="colour intensity")
ax.set_title("Letter: grower, not shown to the model. Colour: state of factor 0", loc="left", size=10)
plt.show()
