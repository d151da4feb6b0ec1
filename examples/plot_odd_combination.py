"""
Every value usual, their combination not
========================================

Body measurements of 300 people, made for this example. One person has the length of a tall man and the feet and the
weight of a light woman. No number is odd by itself, and no test of one column at a time would find it.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from hicorex import Corex

rng = np.random.default_rng(0)
size = rng.normal(size=300)
scale = {
    "height": (171, 9),
    "arm span": (172, 10),
    "leg": (80, 5),
    "shoe": (41, 2.2),
    "weight": (72, 11),
    "waist": (84, 9),
}
X = pd.DataFrame({name: mean + sd * (size + 0.35 * rng.normal(size=300)) for name, (mean, sd) in scale.items()})
X.loc[7] = [187, 189, 89, 38, 57, 72]

model = Corex(1, n_states=6, random_state=0).fit(X)
found = model.surprise(X)
odd = int(np.argmax(found.odd_combination))
print("most unusual by combination:", odd, "-", found.unusual[odd])

fig, ax = plt.subplots(figsize=(6, 4.6), layout="compressed")
points = ax.scatter(X["height"], X["weight"], c=found.odd_combination, cmap="viridis", s=24)
place = X.loc[odd, ["height", "weight"]].to_numpy()
ax.annotate(f"{place[0]:.0f} cm, {place[1]:.0f} kg", place, xytext=(0, -20), textcoords="offset points", ha="center")
ax.scatter(*place, s=160, facecolors="none", edgecolors="#cc6677", lw=2)
ax.set(xlabel="height, cm", ylabel="weight, kg")
fig.colorbar(points, label="nats more than usual, because of the combination")
ax.spines[["top", "right"]].set_visible(False)
plt.show()
