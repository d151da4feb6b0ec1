"""Personality: the five traits from the answers to fifty questions.

People answered fifty questions about themselves, ten for each of five traits, from 1 (disagree) to 5 (agree). The
paper rests on an earlier one (NIPS 2014), which finds the five traits in such a survey, and adds layers on top. Here
five factors of three states are fitted to two surveys that do not overlap, without a word about the traits. Then a
second layer is put on top of them, and judged by people that the fit has not seen.
"""

import re
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.metrics import adjusted_rand_score

from hicorex import Corex, HierarchicalCorex, plot

SOURCE = "big5"
TRAITS = {
    "E": "extraversion",
    "N": "neuroticism",
    "A": "agreeableness",
    "C": "conscientiousness",
    "O": "openness",
}


def read_survey(source: Path) -> tuple[pd.DataFrame, dict[str, str]]:
    """The answers, a column a question by its text, and the trait of each question."""
    text = dict(
        re.findall(r"^([ENACO]\d+)\tI (?:am )?(.+?)\.?\s*$", (source / "codebook.txt").read_text(), re.MULTILINE)
    )
    answers = pd.read_csv(source / "big5_full.csv.gz", keep_default_na=False)[list(text)]
    answers = answers[(answers != 0).all(axis=1)]  # 0 is a question left out
    traits = {words: TRAITS[code[0]] for code, words in text.items()}
    return answers.rename(columns=text), traits


def read_sample(source: Path) -> tuple[pd.DataFrame, np.ndarray]:
    """The smaller survey, whose questions take turns among the traits, and the trait of each."""
    answers = pd.read_csv(source / "test_big5.csv.gz")
    return answers.where(answers >= 0), np.arange(answers.shape[1]) % 5


def describe(clusters: np.ndarray, traits: list[str]) -> str:
    """The leading trait of each factor, with how many of its questions are of that trait."""
    parts = []
    for factor in range(5):
        counts = pd.Series(traits)[clusters == factor].value_counts()
        parts.append(f"{counts.index[0]} {counts.iloc[0]} of {counts.sum()}" if len(counts) else "none")
    return ", ".join(parts)


def number_claim(people: pd.DataFrame, max_iter: int) -> dict:
    """How many factors "auto" takes."""
    sized = Corex("auto", n_states=3, n_init=1, max_iter=max_iter, random_state=0).fit(people)
    return {
        "id": "big5:number",
        "claim": "The bound itself tells that there are five factors.",
        "paper": "left to future work",
        "measured": f"{sized.n_factors_} factors by held-out people, of {len(people)} in all",
        "reproduced": bool(sized.n_factors_ == 5),
    }


def hierarchy_claim(model: HierarchicalCorex, new: pd.DataFrame) -> dict:
    """What the second layer adds for people that the fit has not seen."""
    layers = model.bounds(new).to_frame()
    gain, error = layers.loc["layer2", ["contribution", "contribution_stderr"]]
    linked = int((model.layers_[1].clusters_ == 0).sum())
    return {
        "id": "big5:hierarchy",
        "claim": "A second layer explains dependence that is left among the factors of the first.",
        "paper": "layers add to the bound",
        "measured": f"it adds {gain:.3f} ± {error:.3f} nats to {layers.loc['layer1', 'contribution']:.2f} for "
        f"{len(new)} new people, and ties {linked} of 5 traits together; the criterion is more than two standard "
        "errors",
        "reproduced": bool(gain > 2 * error),
    }


def run(out: Path, quick: bool, source: Path | None) -> list[dict]:
    """Fit both surveys, compare factors with traits, and draw the hierarchy."""
    answers, traits = read_survey(source)
    n_rows, n_init = (1000, 1) if quick else (6000, 10)
    options = {"n_states": 3, "n_init": n_init, "random_state": 0}
    seen, new = answers[:n_rows], answers[n_rows:]
    model = HierarchicalCorex((5, 1), **options).fit(seen)
    first = model.layers_[0].clusters_
    agreement = adjusted_rand_score(list(traits.values()), first)
    sample, sample_traits = read_sample(source)
    small = Corex(5, marginals="categorical", **options).fit(sample[:n_rows])
    sample_agreement = adjusted_rand_score(sample_traits, small.clusters_)

    ax = plot.graph(model, groups=pd.Series(traits, name="trait"), threshold=0.02)
    ax.set_title(f"Fifty questions, coloured by trait; five factors and one on top ({n_rows} people)")
    ax.get_figure().savefig(out / "big5.png", dpi=110)
    plt.close(ax.get_figure())
    return [
        {
            "id": "big5:traits",
            "claim": "Five factors group the fifty questions exactly by the five traits.",
            "paper": "perfect agreement (earlier paper)",
            "measured": f"adjusted Rand index {agreement:.3f} with {n_rows} people and {sample_agreement:.3f} with the "
            f"{len(sample[:n_rows])} of the smaller survey (exact is 1); questions of the leading trait of each "
            f"factor: {describe(first, list(traits.values()))}",
            "reproduced": bool(agreement == 1 and sample_agreement == 1),
        },
        number_claim(seen[: 200 if quick else 2000], max_iter=30 if quick else 200),
        hierarchy_claim(model, new[:2000] if quick else new),
    ]
