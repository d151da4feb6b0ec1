"""The scikit-learn contract."""

from sklearn.utils.estimator_checks import parametrize_with_checks

from hicorex import Corex, HierarchicalCorex


@parametrize_with_checks([Corex(), HierarchicalCorex()])
def test_scikit_learn_contract(estimator, check):
    check(estimator)


def by_row(estimator):
    """Sizes are chosen on folds, which are drawn by row: a row of weight two cannot be in both."""
    kinds = ("dense", "sparse") if isinstance(estimator, Corex) else ()
    return {f"check_sample_weight_equivalence_on_{kind}_data": by_row.__doc__ for kind in kinds}


@parametrize_with_checks([Corex("auto"), HierarchicalCorex("auto")], expected_failed_checks=by_row)
def test_scikit_learn_contract_of_automatic_sizes(estimator, check):
    check(estimator)
