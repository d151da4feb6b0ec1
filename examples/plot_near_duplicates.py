"""
Pairs that go together for a reason of their own
================================================

Thirty measurements of cell nuclei. Five factors explain most of what they have in common. What is left are pairs:
radius and perimeter are one measurement taken twice.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer

from hicorex import Corex

X = load_breast_cancer(as_frame=True).data
model = Corex(5, n_states=3, random_state=0).fit(X)
pairs = model.residual_pairs()
strongest = sorted(pairs.pairs, key=lambda pair: -pair.information)[:10][::-1]
print(f"{pairs.lower:.1f} nats by the factors, {pairs.lower_with_pairs:.1f} with the pairs")

fig, ax = plt.subplots(figsize=(7.4, 4), layout="compressed")
ax.barh([str(pair) for pair in strongest], [pair.information for pair in strongest], color="#44aa99")
ax.set_xlabel("nats that factors leave")
ax.spines[["top", "right"]].set_visible(False)
plt.show()
