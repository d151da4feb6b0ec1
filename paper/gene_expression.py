"""Gene expression: ovarian tumours, their subtypes, and survival.

The paper names gene expression as an application to come. Here 881 genes were measured in the tumours of 511 patients;
a published study sorted these into four subtypes by the same genes, and the survival of the patients is known. A
hierarchy of 30, 5 and 1 factors of three states is fitted to the genes alone. Then its factors are held against
subtypes and survival, and every test is corrected for the number of factors. For survival all is done five
times, with other random numbers, since what is weak may depend on these.
"""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from scipy.special import entr
from scipy.stats import CensoredData, ecdf

from hicorex import HierarchicalCorex
from hicorex.plot.canvas import PALETTE

SOURCE = "tcga_ov"


def agreement(classes: np.ndarray, states: np.ndarray) -> np.ndarray:
    """Normalised mutual information of classes with each column of states."""
    member = (classes[:, None] == np.unique(classes)).astype(float)
    joint = np.tensordot((states[:, :, None] == np.arange(3)).astype(float), member, (0, 0)) / len(classes)
    single = entr(joint.sum(axis=2)).sum(axis=1) + entr(joint.sum(axis=1)).sum(axis=1)
    return 2 * (1 - entr(joint).sum(axis=(1, 2)) / single)


def draw(path: Path, patients: pd.DataFrame, nmi: pd.Series, survival: pd.Series, states: pd.DataFrame) -> None:
    """All factors by both, the best one for the subtypes, and the best one for survival."""
    fig, (left, middle, right) = plt.subplots(1, 3, figsize=(14, 4.4), layout="constrained")
    for layer, colour in zip(("layer1", "layer2", "layer3"), PALETTE, strict=False):
        of_layer = nmi.index.str.startswith(layer)
        left.scatter(nmi[of_layer], -np.log10(survival[of_layer]), color=colour, label=layer.replace("layer", "layer "))
    left.axhline(-np.log10(0.05), color="grey", lw=1, ls="--")
    left.set(xlabel="normalised mutual information with the subtypes", ylabel="-log10 p of survival, corrected")
    left.set_title("Every factor; the dashed line is p = 0.05", fontsize=10)
    left.set_ylim(0, 1.2 * max(1.3, -np.log10(survival.min())))
    left.legend(ncols=3, loc="upper center")
    best = nmi.idxmax()
    counts = pd.crosstab(states[best].to_numpy(), patients["subtype"].to_numpy())
    bottom = np.zeros(len(counts))
    for subtype, colour in zip(counts, PALETTE, strict=False):
        middle.bar(counts.index.astype(str), counts[subtype], bottom=bottom, color=colour, label=f"subtype {subtype}")
        bottom += counts[subtype].to_numpy()
    middle.set(xlabel=f"state of {best}", ylabel="patients")
    middle.set_title("The factor closest to the subtypes", fontsize=10)
    middle.legend()
    best = survival.idxmin()
    for (state, in_state), colour in zip(patients.groupby(states[best].to_numpy()), PALETTE, strict=False):
        curve = ecdf(CensoredData.right_censored(in_state["OS"] / 365.25, in_state["status"] == 0)).sf
        curve.plot(right, color=colour, label=f"state {state}, {len(in_state)} patients")
    right.set(xlabel="years", ylabel="share of patients alive", xlim=0, ylim=(0, 1.02))
    right.set_title(f"Survival by {best}, corrected p = {survival[best]:.2g}", fontsize=10)
    right.legend()
    fig.savefig(path, dpi=110)
    plt.close(fig)


def run(out: Path, quick: bool, source: Path | None) -> list[dict]:
    """Fit the genes, then test the factors against subtypes and survival."""
    patients = pd.read_csv(source / "tcga_ov_881genes.csv.gz", index_col=0)
    genes, subtype = patients.iloc[:, 4:], patients["subtype"].to_numpy()
    times = patients[["OS", "status"]]
    fits = []
    for seed in range(1 if quick else 5):
        model = HierarchicalCorex((30, 5, 1), n_states=3, n_init=1 if quick else 10, random_state=seed).fit(genes)
        states = pd.DataFrame(model.transform(genes), columns=model.get_feature_names_out())
        states = states.loc[:, states.nunique() > 1]  # factors without use have one state
        found = model.associate(times, survival=("OS", "status"))  # by the log-rank test
        survival = pd.Series(found.q_values[:, 0], index=found.factors)
        fits.append((model, states, survival[states.columns]))
    model, states, survival = fits[0]
    nmi = pd.Series(agreement(subtype, states.to_numpy()), index=states.columns)
    rng = np.random.default_rng(0)
    # The best of all factors for shuffled subtypes: a probability that is corrected already.
    shuffled = [agreement(rng.permutation(subtype), states.to_numpy()).max() for _ in range(199 if quick else 999)]
    p_subtype = (1 + np.sum(np.array(shuffled) >= nmi.max())) / (1 + len(shuffled))
    lowest = [corrected.min() for _, _, corrected in fits]
    significant = sum(p < 0.05 for p in lowest)
    draw(out / "gene_expression.png", patients, nmi, survival, states)

    def genes_of(name: str) -> str:
        """The first genes of a factor of the first layer; of one above, those of its main factor below."""
        at, factor = (int(part) for part in name.removeprefix("layer").split("_factor"))
        for layer in reversed(model.layers_[:at]):
            top = np.argsort(-(layer.alpha_ * layer.mutual_information_)[:, factor])[:6]
            factor = top[0]
        return ", ".join(genes.columns[top])

    return [
        {
            "id": "gene_expression:subtypes",
            "claim": "Factors of the genes tell the subtypes of the tumours.",
            "paper": "intriguing results",
            "measured": f"{nmi.idxmax()} ({genes_of(nmi.idxmax())}) has a normalised mutual information of "
            f"{nmi.max():.2f} with the four subtypes, the best factor of shuffled ones at most {max(shuffled):.2f} "
            f"(p = {p_subtype:.3f}, criterion 0.01)",
            "reproduced": bool(p_subtype < 0.01),
        },
        {
            "id": "gene_expression:survival",
            "claim": "Factors of the genes tell how long patients live.",
            "paper": "intriguing results",
            "measured": f"log-rank test at a false discovery rate of 0.05: {significant} of {len(fits)} fits have such "
            f"a factor (criterion: most of them), with lowest corrected p of {', '.join(f'{p:.2g}' for p in lowest)}; "
            f"in the first it is {survival.idxmin()} ({genes_of(survival.idxmin())})",
            "reproduced": bool(significant > len(fits) / 2),
        },
    ]
