"""
What total correlation is
=========================

A coin has 0.69 nats, ln 2. Five coins have five times as much, unless they go together: then all of them have less than
their sum, and what is missing is the total correlation. It is 0 for coins that have nothing to do with each other.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.special import comb

flip = np.array([0.5, 0.3, 0.2, 0.1, 0.0])  # how often each of five copies differs from a hidden coin
ones = np.arange(6)
parts, whole = 5 * np.log(2), []
for rate in flip:
    p = (rate**ones * (1 - rate) ** (5 - ones) + (1 - rate) ** ones * rate ** (5 - ones)) / 2  # of one table row
    whole.append(-(comb(5, ones) * p * np.log(np.where(p > 0, p, 1))).sum())
whole = np.array(whole)

fig, ax = plt.subplots(figsize=(7, 3.4), layout="compressed")
names = ["nothing in common", "differ in 30%", "differ in 20%", "differ in 10%", "all the same"]
ax.barh(names, whole, color="#88ccee")
ax.barh(names, parts - whole, left=whole, color="#332288")
for row, nats in enumerate(whole):
    ax.text(nats / 2, row, f"{nats:.2f}", ha="center", va="center")
    if parts - nats > 0.2:
        ax.text((nats + parts) / 2, row, f"{parts - nats:.2f}", ha="center", va="center", color="white")
ax.axvline(parts, color="#8c8c8c", lw=1)
ax.set(xlabel="nats", xlim=(0, parts * 1.01))
ax.set_title("five coins: light, all of them together; dark, total correlation", loc="left", size=10)
ax.invert_yaxis()
ax.spines[["top", "right"]].set_visible(False)
plt.show()
