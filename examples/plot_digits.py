"""
Pixels that go together are strokes
===================================

Handwritten digits of 8 by 8 pixels. The model knows neither which pixels are neighbours nor which digit is meant. Its
factors are strokes all the same: patches of the image that are dark or light together.
"""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.colors import to_rgb
from sklearn.datasets import load_digits

from hicorex import Corex

digits = load_digits()
X = digits.data
model = Corex(8, n_states=2, random_state=0).fit(X)
strength = model.alpha_ * model.mutual_information_

palette = ["#332288", "#cc6677", "#117733", "#ddcc77", "#88ccee", "#882255", "#44aa99", "#999933"]
colours = np.array([to_rgb(colour) for colour in palette])
share = np.clip(strength.max(axis=1) / 0.35, 0, 1)[:, None]
parts = colours[strength.argmax(axis=1)] * share + (1 - share)

fig, axes = plt.subplots(2, 5, figsize=(8, 3.6), layout="compressed")
axes[0, 0].imshow(X.mean(axis=0).reshape(8, 8), cmap="gray_r")
axes[0, 0].set_title("mean digit", size=9)
axes[1, 0].imshow(parts.reshape(8, 8, 3))
axes[1, 0].set_title("all factors", size=9)
labels = model.transform(X)
for factor, ax in enumerate(axes[:, 1:].flat):
    high, low = (X[labels[:, factor] == state].mean(axis=0).reshape(8, 8) for state in (1, 0))
    ax.imshow(high - low, cmap="RdBu_r", vmin=-14, vmax=14)
    ax.set_title(f"factor {factor}", size=9, color=palette[factor])
for ax in axes.flat:
    ax.set(xticks=[], yticks=[])
plt.show()
print(f"{model.cross_fitted_.lower:.2f} nats explained, cross-fitted")
