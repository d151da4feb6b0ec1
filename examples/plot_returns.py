"""
Sectors and a crash, from returns alone
=======================================

Ten years of monthly returns of sixty shares, made for this example: one market, six sectors, heavy tails, and a crash
in month 70. The model sees neither the sectors nor that anything happened.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from hicorex import HierarchicalCorex, plot

rng = np.random.default_rng(0)
market = 0.03 * rng.standard_t(4, size=120)
market[70] = -0.22
sector = 0.035 * rng.standard_t(4, size=(120, 6))
member = np.arange(60) % 6
returns = pd.DataFrame(
    market[:, None] + sector[:, member] + 0.03 * rng.standard_t(4, size=(120, 60)),
    columns=[f"S{i:02d}" for i in range(60)],
)
model = HierarchicalCorex((6, 1), n_states=3, marginals="rank", random_state=0).fit(returns)
sectors = {name: f"sector {member[i]}" for i, name in enumerate(returns)}

plot.graph(model, groups=sectors, threshold=0.08)
plt.show()

# %%
# The month in which all follow the pattern at once:

fig, ax = plt.subplots(figsize=(7.4, 3.2), layout="compressed")
plot.pointwise(model, returns, series={"mean return": returns.mean(axis=1)}, surprising=1, ax=ax)
plt.show()
print("most surprising month:", int(abs(model.surprise(returns).samples).argmax()))
