"""Odd and bad options: a documented result, or an error that names the option."""

import numpy as np
import pytest
from noisy_coins import BITS, OPTIONS, X, fitted, frame
from numpy.testing import assert_array_equal

from hicorex import Corex, HicorexError


@pytest.mark.parametrize("table", [X, BITS], ids=["float", "int"])
@pytest.mark.parametrize("structure", ["unique", "overlap", "tree"])
def test_factors_beyond_the_number_of_columns_stay_unused(table, structure):
    model = fitted(table, n_factors=9, structure=structure)
    assert (model.tcs_[:2] > 1).all()
    assert not model.tcs_[2:].any()
    assert not model.alpha_[:, 2:].any()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("n_factors", 0),
        ("n_factors", 2.5),
        ("n_states", 1),
        ("n_states", 101),
        ("n_states", "many"),
        ("parsimony", -0.1),
        ("parsimony", 1.0),
        ("n_init", 0),
        ("max_iter", 0),
        ("tol", -1.0),
        ("tol", np.nan),
        ("n_jobs", 0),
        ("structure", "forest"),
        ("marginals", None),
        ("random_state", "seed"),
    ],
)
def test_a_bad_option_is_refused_by_name(name, value):
    with pytest.raises(ValueError, match=f"The '{name}' parameter of Corex must be .* Got {value!r} instead"):
        Corex(**{name: value}).fit(X)


@pytest.mark.parametrize(
    ("marginals", "message"),
    [
        ("poisson", "column 'a' the kind 'poisson'; use one of gaussian, rank, categorical"),
        ({"c": "poisson"}, "column 'c' the kind 'poisson'; use one of gaussian, rank, categorical"),
        (["gaussian"] * 6 + [None], "column 'odd' the kind None; use one of gaussian, rank, categorical"),
        (["gaussian"] * 3, "marginals lists 3 kinds for 7 columns; give one a column"),
        ({"nope": "rank"}, "marginals names column 'nope', which the table does not have"),
        ({7: "rank"}, "marginals names column 7, which the table does not have"),
        ("gaussian", "Column 'odd' holds text: it needs marginals \"categorical\""),
        ({"odd": "gaussian"}, "Column 'odd' holds text: it needs marginals \"categorical\""),
        ({"odd": "rank"}, "Column 'odd' holds text: it needs marginals \"categorical\""),
    ],
)
def test_bad_marginals_are_refused_with_the_column_or_the_remedy(marginals, message):
    with pytest.raises(HicorexError, match=message):
        Corex(n_factors=2, n_states=2, marginals=marginals).fit(frame(["x", "y"] * 30))


ONES = np.ones(len(X))


def test_samples_of_weight_zero_might_as_well_hold_anything():
    table = np.vstack([X, np.full((1, 6), np.inf)])
    weighted = Corex(**OPTIONS).fit(table, sample_weight=np.append(ONES, 0))
    assert_array_equal(weighted.tcs_, fitted(X).tcs_)
