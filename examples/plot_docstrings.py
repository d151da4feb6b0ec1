"""
Topics of a thousand short texts
================================

The descriptions of all functions of SciPy are texts that are on your machine. A topic is a group of words that occur
together. No one says which part of SciPy a text is from; the topics know.
"""

import importlib
import inspect

import matplotlib.pyplot as plt
import numpy as np
from sklearn.feature_extraction.text import CountVectorizer

from hicorex import Corex

PARTS = ["stats", "signal", "linalg", "special", "ndimage", "interpolate", "spatial", "optimize"]
texts = {}
for part in PARTS:
    module = importlib.import_module(f"scipy.{part}")
    for name in sorted(set(module.__all__)):
        text = inspect.getdoc(getattr(module, name)) or ""
        if len(text) > 300 and text not in texts:
            texts[text] = part
part_of = np.array([PARTS.index(part) for part in texts.values()])

words = CountVectorizer(stop_words="english", min_df=15, max_df=0.4, token_pattern=r"[a-z]{4,}", binary=True)
X = words.fit_transform(texts).astype(bool)
names = words.get_feature_names_out()
print(X.shape[0], "texts,", X.shape[1], "words")

model = Corex(10, n_states=2, random_state=0).fit(X)
strength = model.alpha_ * model.mutual_information_
present = model.transform(X) == 1
for topic in range(6):
    print(topic, *names[strength[:, topic].argsort()[::-1][:7]])

# %%
# In which part of SciPy each topic occurs. Rows are topics with their first words.

share = np.array([[present[part_of == part, topic].mean() for part in range(len(PARTS))] for topic in range(10)])
share = np.where(share.mean(axis=1, keepdims=True) > 0.5, 1 - share, share)
rows = [" ".join(names[strength[:, topic].argsort()[::-1][:4]]) for topic in range(10)]
order = share.argmax(axis=1).argsort(kind="stable")

fig, ax = plt.subplots(figsize=(8, 4.6), layout="compressed")
image = ax.imshow(share[order], aspect="auto", cmap="cividis", vmin=0, vmax=1)
ax.set_xticks(range(len(PARTS)), PARTS, rotation=30, ha="right")
ax.set_yticks(range(10), [rows[topic] for topic in order])
fig.colorbar(image, label="share of the texts that have the topic")
plt.show()
