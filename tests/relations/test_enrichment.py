"""Groups of variables in factors: the hypergeometric distribution, whatever the groups come as."""

from math import comb

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from hicorex import Corex, HicorexError
from hicorex.input.spreadsheet import ENRICHMENT
from hicorex.relations.enrichment import Enriched, enrichment_of, variables_of_factors
from hicorex.relations.variable_groups import VariableGroup, variable_groups

NAMES = [f"gene{i}" for i in range(20)]


def test_probabilities_are_counted_as_draws_without_return():
    members = [np.arange(20) < 6, np.arange(20) >= 18]
    groups = [VariableGroup("set", "low", np.arange(5)), VariableGroup("set", "even", np.arange(0, 20, 2))]
    found = enrichment_of(["a", "b"], NAMES, members, groups)
    assert found.n_tests == 4
    first = found.rows[0]
    assert (first.factor, first.group, first.n_shared, first.n_variables, first.n_group) == ("a", "low", 5, 6, 5)
    assert_allclose(first.p_value, comb(15, 1) / comb(20, 6))  # all five and one more
    assert_allclose([first.expected, first.fold], [1.5, 5 / 1.5])
    assert_allclose(first.q_value, 4 * first.p_value)
    assert first.variables == tuple(NAMES[:5])
    even = next(row for row in found.rows if (row.factor, row.group) == ("b", "even"))
    assert_allclose(even.p_value, 1 - comb(10, 2) / comb(20, 2))
    assert tuple(found.to_frame().columns) == ENRICHMENT == Enriched._fields
    assert "low" in repr(found)


def test_groups_come_in_every_form(tmp_path):
    of_variable = {name: "odd" if i % 2 else "even" for i, name in enumerate(NAMES)} | {"other": "odd"}
    sets = {"odd": [*NAMES[1::2], "unknown"], "even": set(NAMES[::2]), "strange": ["none", "of", "ours"]}
    (tmp_path / "sets.gmt").write_text(
        "".join("\t".join([name, "a remark", *members]) + "\n" for name, members in sets.items())
    )
    frame = pd.DataFrame({"parity": of_variable, "size": dict.fromkeys(NAMES[:7], "small")})
    frame["parity"].rename_axis("gene").to_csv(tmp_path / "groups.csv")
    forms = (of_variable, sets, str(tmp_path / "sets.gmt"), tmp_path / "groups.csv", frame["parity"], frame)
    for given in forms:
        found = {group.name: group.members.tolist() for group in variable_groups(NAMES, given)}
        assert (found["odd"], found["even"]) == (list(range(1, 20, 2)), list(range(0, 20, 2)))
        assert "strange" not in found
    assert {group.grouping for group in variable_groups(NAMES, frame)} == {"parity", "size"}


def test_groups_that_cannot_be_used_are_refused(tmp_path):
    with pytest.raises(HicorexError, match="names none of the model's variables"):
        variable_groups(NAMES, {"set": ["a", "b"]})
    with pytest.raises(HicorexError, match="names none of the model's variables"):
        variable_groups(NAMES, {"a": "set"})
    path = tmp_path / "sets.gmt"
    path.write_text("one\tremark\tgene1\ntwo\tremark\n")
    with pytest.raises(HicorexError, match="set 2: 'two' has no members"):
        variable_groups(NAMES, path)
    path.write_text("one\tremark\tgene1\none\tremark\tgene2\n")
    with pytest.raises(HicorexError, match="set 'one' twice"):
        variable_groups(NAMES, path)
    with pytest.raises(HicorexError, match="cannot be read"):
        variable_groups(NAMES, tmp_path / "absent.gmt")
    with pytest.raises(HicorexError, match="groups is of type int"):
        variable_groups(NAMES, 3)


def test_planted_groups_are_found_and_factors_above_have_those_below(gene_fit):
    model, _, pathways = gene_fit
    found = model.enrichment(pathways)
    best = {row.factor: row for row in reversed(found.rows)}
    for row in best.values():
        if row.factor.startswith("layer1"):
            assert row.q_value < 1e-3
            assert row.n_shared == row.n_variables
    below = variables_of_factors(model.fitted_)
    upper = model.layers_[1]
    for j in range(upper.clusters_.max() + 1):
        expected = np.any([below[i] for i in np.flatnonzero(upper.clusters_ == j)], axis=0)
        np.testing.assert_array_equal(below[model.layers_[0].n_factors + j], expected)
    with pytest.raises(HicorexError, match="groups is None"):
        model.enrichment(None)


def test_traits_and_scales_of_a_questionnaire_are_found(real_data):
    answers = pd.read_csv(real_data / "bfi" / "bfi.csv")
    items = list(answers.columns[1:26])
    model = Corex(5, n_states=4, n_init=1, random_state=0).fit(answers[items])
    scales = model.enrichment({item: item[0] for item in items})
    best = {row.group: row.factor for row in reversed(scales.rows)}
    assert sorted(best) == list("ACENO")
    assert all(row.q_value < 0.01 for row in scales.rows[:4])
    found = model.associate(answers[["gender", "age"]])
    assert found.q_values.min() < 1e-10
    agreeable = found.factors.index(best["A"])
    assert found.explained_share[:, 0].argmax() == agreeable  # women say that they are more agreeable
    assert found.explained_share.max() < 0.1
