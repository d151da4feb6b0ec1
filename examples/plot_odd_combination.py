"""
Every value usual, their combination not
========================================

Body measurements of 300 people, made for this example. One person has the height of a tall man and the weight of a
light woman. Neither number is odd, and no test of one column at a time would find it.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from hicorex import Corex

rng = np.random.default_rng(0)
size = rng.normal(size=300)
X = pd.DataFrame(
    {
        "height": 171 + 9 * (size + 0.3 * rng.normal(size=300)),
        "arm span": 172 + 10 * (size + 0.3 * rng.normal(size=300)),
        "shoe": 41 + 2.2 * (size + 0.4 * rng.normal(size=300)),
        "weight": 72 + 11 * (size + 0.4 * rng.normal(size=300)),
    }
)
X.loc[7, ["height", "weight"]] = [185, 60]

model = Corex(1, n_states=4, random_state=0).fit(X)
found = model.surprise(X)
odd = int(np.argmax(found.odd_combination))
print("most unusual by combination:", odd, "-", found.unusual[odd])

fig, ax = plt.subplots(figsize=(6, 4.6), layout="compressed")
points = ax.scatter(X["height"], X["weight"], c=found.odd_combination, cmap="viridis", s=24)
ax.annotate(
    "185 cm, 60 kg", X.loc[odd, ["height", "weight"]], xytext=(-10, -26), textcoords="offset points", ha="right"
)
ax.scatter(*X.loc[odd, ["height", "weight"]], s=160, facecolors="none", edgecolors="#cc6677", lw=2)
ax.set(xlabel="height, cm", ylabel="weight, kg")
fig.colorbar(points, label="nats more than usual, because of the combination")
ax.spines[["top", "right"]].set_visible(False)
plt.show()
