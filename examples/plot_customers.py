"""
Numbers, words and gaps in one table
====================================

Customer records as they are: amounts, categories, yes and no, and a tenth of the cells missing. Nothing is converted,
filled in or thrown away. Made for this example: three hidden traits of 800 customers.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from hicorex import Corex

rng = np.random.default_rng(0)
n = 800
wealthy, young, loyal = rng.random((3, n)) < [[0.4], [0.5], [0.3]]
table = pd.DataFrame(
    {
        "income": np.exp(10.3 + 0.9 * wealthy + 0.3 * rng.normal(size=n)),
        "card": np.where(rng.random(n) < 0.15 + 0.7 * wealthy, "gold", "plain"),
        "home": np.where(rng.random(n) < 0.2 + 0.6 * wealthy, "owned", "rented"),
        "age": 52 - 22 * young + 7 * rng.normal(size=n),
        "channel": np.where(young, rng.choice(["app", "web"], n), rng.choice(["shop", "phone", "web"], n)),
        "newsletter": np.where(rng.random(n) < 0.8 - 0.6 * young, "yes", "no"),
        "orders": rng.poisson(2 + 9 * loyal).astype(float),
        "returns": rng.poisson(0.5 + 2 * loyal).astype(float),
        "member": np.where(rng.random(n) < 0.1 + 0.8 * loyal, "yes", "no"),
        "shoe size": rng.normal(41, 2, size=n),
    }
).mask(rng.random((n, 10)) < 0.1)

model = Corex(3, n_states=2, random_state=0).fit(table)
share = model.alpha_ * (model.link_pvalues_ < 0.001)

fig, ax = plt.subplots(figsize=(5.4, 4.6), layout="compressed")
image = ax.imshow(share, aspect="auto", cmap="cividis", vmin=0, vmax=1)
for row, column in np.ndindex(share.shape):
    if share[row, column] > 0.05:
        dark = share[row, column] > 0.6
        ax.text(column, row, f"{share[row, column]:.2f}", ha="center", va="center", color="black" if dark else "white")
ax.set_xticks(range(3), [f"factor {j}" for j in range(3)])
ax.set_yticks(range(10), table.columns)
ax.set_title("Which column belongs to which factor", loc="left", size=11)
fig.colorbar(image, label="alpha")
plt.show()

# %%
# The hidden traits come back, with a tenth of the cells missing:

labels = model.transform(table)
for name, trait in {"wealthy": wealthy, "young": young, "loyal": loyal}.items():
    agreement = np.array([max((column == trait).mean(), (column != trait).mean()) for column in labels.T])
    print(f"{name}: factor {agreement.argmax()} agrees for {agreement.max():.0%} of the customers")
