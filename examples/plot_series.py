"""
The river knows what the rain did yesterday
===========================================

Rows that follow one another in time. With copies of the columns from the days before, dependence over time is found as
any other: the river goes with the rain of two days ago, not with that of today.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import hicorex
from hicorex import Corex

rng = np.random.default_rng(0)
rain = rng.gamma(0.7, 4, size=602)
table = pd.DataFrame(
    {
        "day": range(600),
        "rain": rain[2:],
        "river": 20 + 1.5 * rain[:-2] + rng.normal(size=600),
        "wind": rng.normal(12, 3, size=600),
    }
)
lagged = hicorex.read_table(table, lags=[1, 2, 3], time="day", exclude=["day"])
names = list(lagged.frame.column_names)
model = Corex(3, n_states=3, marginals="rank", random_state=0).fit(lagged)
labels = pd.Series(model.clusters_, index=names)
print(labels.sort_values())

# %%
# What the factor of the river knows of each column, and when.

factor = labels["river"]
known = pd.Series(model.mutual_information_[:, factor], index=names)
fig, ax = plt.subplots(figsize=(6.4, 3), layout="compressed")
columns, days = ["rain", "river", "wind"], ["", "_lag1", "_lag2", "_lag3"]
image = ax.imshow([[known[name + day] for day in days] for name in columns], cmap="cividis", vmin=0, aspect="auto")
ax.set_xticks(range(4), ["today", "1 day before", "2 days before", "3 days before"])
ax.set_yticks(range(3), columns)
fig.colorbar(image, label="nats that the factor knows")
plt.show()
