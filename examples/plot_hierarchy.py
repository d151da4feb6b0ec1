"""
A tree grown from its leaves
============================

Sixty yes-no columns at the tips of a tree. Only the tips are seen. The factors, the factors above them and how many of
each there are come out by themselves. Colours are the true groups, which the model has not seen.
"""

import matplotlib.pyplot as plt

from hicorex import HierarchicalCorex, plot
from hicorex.datasets import make_latent_tree

X, truth = make_latent_tree(2000, 60, (9, 3), root_flip=0.1, flip=(0.03, 0.15), random_state=0)
model = HierarchicalCorex(random_state=0).fit(X)
print("factors in each layer:", [layer.n_factors_ for layer in model.layers_])
print(f"explained: {model.cross_fitted_.lower:.1f} nats; the truth: {truth.total_correlation:.1f}")

groups = {f"x{i}": f"true group {group}" for i, group in enumerate(truth.clusters)}
plot.graph(model, groups=groups, threshold=0.02)
plt.show()
