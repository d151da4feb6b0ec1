"""
How many factors? Ask samples that were not looked at
=====================================================

A questionnaire of twenty-five questions on five traits, made for this example. The bound on held-out people rises until
five factors and then no more. The ring is what ``Corex()`` chooses.
"""

import matplotlib.pyplot as plt
import numpy as np

from hicorex import Corex, plot

rng = np.random.default_rng(0)
traits = rng.normal(size=(1000, 5))
answers = 0.8 * traits[:, np.arange(25) // 5] + 0.6 * rng.normal(size=(1000, 25))
X = np.digitize(answers, [-1.2, -0.4, 0.4, 1.2])  # from 0, not at all, to 4, very much

model = Corex(random_state=0).fit(X)
print(model.n_factors_, "factors of", model.n_states_, "states:", model.sizing_.reason)

fig, ax = plt.subplots(figsize=(6.4, 4), layout="compressed")
plot.sizing(model, ax=ax)
plt.show()
