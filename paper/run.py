"""Run the paper's experiments, draw its figures, and write down which of its claims hold.

    python paper/run.py                      all of them, with what data there are
    python paper/run.py example1 example2    some of them
    python paper/run.py --quick              small versions, to see that they run

Each experiment is a script of its own beside this one, with a function ``run(out, quick, source)`` that draws into
the folder ``out`` and returns its claims, and with ``SOURCE``, the name of the data it needs: "" for none, "sp500", or
a folder below that of the data sets, HICOREX_DATA. Claims go to results.json and to a page of the documentation.
"""

import argparse
import importlib.util
import json
import sys
import time
import warnings
from pathlib import Path
from types import ModuleType
from typing import Any

import matplotlib

matplotlib.use("Agg")

import hicorex

sys.path.append(str(Path(__file__).resolve().parents[1]))
import real_data

HERE = Path(__file__).parent
EXPERIMENTS = (
    "example1",
    "example2",
    "scaling",
    "sample_complexity",
    "latent_trees",
    "clustering",
    "sp500_structure",
    "sp500_time",
    "sp500_rbm",
    "bounds",
    "big5",
    "gene_expression",
    "newsgroups",
    "beyond",
    "beyond_data",
)
KEYS = ("id", "claim", "paper", "measured", "reproduced")


def load(name: str) -> ModuleType:
    """The script of an experiment."""
    spec = importlib.util.spec_from_file_location(f"paper_{name}", HERE / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def source_of(experiment: ModuleType, sp500: Path | None, data: Path | None) -> Path | None:
    """Where the data of an experiment are; None if they are not there."""
    if experiment.SOURCE == "sp500" and sp500 is not None:
        return sp500
    path = None if data is None else data / experiment.SOURCE
    return path if path is not None and path.exists() else None


def run_all(
    names: list[str], out: Path, quick: bool, sp500: Path | None, data: Path | None
) -> tuple[list[dict[str, Any]], dict[str, str]]:
    """The claims of some experiments, and which were left out and why."""
    claims, skipped = [], {}
    for name in names:
        experiment = load(name)
        source = source_of(experiment, sp500, data) if experiment.SOURCE else None
        if experiment.SOURCE and source is None:
            skipped[name] = real_data.absent(experiment.SOURCE)
            print(f"{name}: skipped, since {skipped[name]}", flush=True)
            continue
        begun = time.perf_counter()
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                found = experiment.run(out, quick, source)
        except hicorex.HicorexError as error:  # its data are not what it needs
            skipped[name] = str(error).rstrip(".")
            print(f"{name}: skipped: {error}", flush=True)
            continue
        for claim in found:
            assert tuple(claim) == KEYS, f"{name}: {tuple(claim)}"
            claim["reproduced"] = bool(claim["reproduced"])  # a bool of NumPy is not for JSON
            print(f"{name}: {'yes' if claim['reproduced'] else 'NO '}  {claim['id']}: {claim['measured']}", flush=True)
        claims += found
        print(f"{name}: {time.perf_counter() - begun:.0f} s", flush=True)
    return claims, skipped


def write_down(names: list[str], claims: list[dict[str, Any]], skipped: dict[str, str]) -> None:
    """Put the claims of some experiments in the place of those written down before, and write the page anew."""
    path = HERE / "results.json"
    before = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {"claims": [], "skipped": {}}
    kept = [claim for claim in before["claims"] if claim["id"].split(":")[0] not in names]
    order = {name: i for i, name in enumerate(EXPERIMENTS)}
    claims = sorted([*kept, *claims], key=lambda claim: order[claim["id"].split(":")[0]])
    skipped = {name: why for name, why in before["skipped"].items() if name not in names} | skipped
    results = {"version": hicorex.__version__, "claims": claims, "skipped": skipped}
    path.write_text(json.dumps(results, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    (HERE.parent / "docs" / "paper.md").write_text(page_of(claims, skipped), encoding="utf-8")


def page_of(claims: list[dict[str, Any]], skipped: dict[str, str]) -> str:
    """The page of the documentation."""
    held = sum(claim["reproduced"] for claim in claims)
    lines = [
        "# The paper, reproduced",
        "",
        "Written by `make paper`: the experiments of *Maximally Informative Hierarchical Representations of "
        "High-Dimensional Data* (Ver Steeg and Galstyan, 2015), run anew. "
        f"Of {len(claims)} claims, {held} hold here; the others are marked, with what was measured.",
        "",
    ]
    for name in EXPERIMENTS:
        experiment = load(name)
        title, _, rest = (experiment.__doc__ or "").strip().partition("\n\n")
        lines += [f"## {title.rstrip('.')}", "", " ".join(rest.split()), ""]
        if name in skipped:
            lines += [f"Skipped in this run: {skipped[name]}.", ""]
            continue
        told = [claim for claim in claims if claim["id"].split(":")[0] == name]
        lines += ["| claim | in the paper | measured | holds |", "|---|---|---|---|"]
        for claim in told:
            cells = (claim["claim"], claim["paper"], claim["measured"], "yes" if claim["reproduced"] else "**no**")
            lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
        lines += [""]
        for figure in sorted((HERE / "figures").glob(f"{name}*.png")):
            if max((n for n in EXPERIMENTS if figure.stem.startswith(n)), key=len) == name:
                lines += [f"![{figure.stem}](../paper/figures/{figure.name})", ""]
    return "\n".join(lines)


def main() -> int:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("experiments", nargs="*", choices=[*EXPERIMENTS, []], help="all by default")
    parser.add_argument("--quick", action="store_true", help="small versions; nothing is written down")
    parser.add_argument("--out", type=Path, default=HERE / "figures", help="folder for the pictures")
    parser.add_argument("--sp500", type=Path, help="QuantQuote archive, or a folder or table of monthly returns")
    parser.add_argument("--data", type=Path, default=real_data.find(), help="folder of the other data sets")
    options = parser.parse_args()
    for path in (options.sp500, options.data):
        if path is not None and not path.exists():
            parser.error(f"{path} is not there")
    names = [name for name in EXPERIMENTS if name in options.experiments or not options.experiments]
    options.out.mkdir(parents=True, exist_ok=True)
    begun = time.perf_counter()
    claims, skipped = run_all(names, options.out, options.quick, options.sp500, options.data)
    print(f"{sum(c['reproduced'] for c in claims)} of {len(claims)} claims hold; {time.perf_counter() - begun:.0f} s")
    if not options.quick:
        write_down(names, claims, skipped)
    return 0


if __name__ == "__main__":
    sys.exit(main())
