"""
A questionnaire finds its own scales
====================================

Five traits, five questions each, answers from 1 to 5, some questions the other way round, some left blank. Made for
this example. The scales come out, and what the states of a factor mean is read off the answers.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from hicorex import Corex, plot

rng = np.random.default_rng(1)
traits = ["outgoing", "kind", "orderly", "anxious", "curious"]
person = rng.normal(size=(900, 5))
sign = np.where(np.arange(25) % 5 == 4, -1, 1)  # the last question of each scale is the other way round
answers = 0.85 * sign * person[:, np.arange(25) // 5] + 0.55 * rng.normal(size=(900, 25))
names = [f"{trait} {i + 1}" for trait in traits for i in range(5)]
X = pd.DataFrame(np.digitize(answers, [-1.3, -0.4, 0.4, 1.3]) + 1.0, columns=names)
X = X.mask(rng.random(X.shape) < 0.03)

model = Corex(5, n_states=3, random_state=0).fit(X)

fig, axes = plt.subplots(2, 1, figsize=(8, 6.4), height_ratios=[1, 1.6], layout="constrained")
image = axes[0].imshow((model.alpha_ * model.mutual_information_).T, aspect="auto", cmap="cividis", vmin=0)
axes[0].set(yticks=range(5), ylabel="factor")
axes[0].set_xticks(np.arange(2, 25, 5), traits)
for edge in range(5, 25, 5):
    axes[0].axvline(edge - 0.5, color="white", lw=1.5)
fig.colorbar(image, ax=axes[0], label="nats")
plot.factor(model, "layer1_factor0", top=5, ax=axes[1])
plt.show()

# %%
# The states of a factor have no order of their own, but the answers of the people in them do:

first = X.columns[model.clusters_ == 0]
print(X[first].groupby(model.transform(X)[:, 0]).mean().round(1))
