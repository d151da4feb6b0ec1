"""The scikit-learn contract."""

from sklearn.utils.estimator_checks import parametrize_with_checks

from hicorex import Corex, HierarchicalCorex


@parametrize_with_checks([Corex(), HierarchicalCorex()])
def test_scikit_learn_contract(estimator, check):
    check(estimator)


def by_row(estimator):
    """Sizes are chosen on folds, which are drawn by row: a row of weight two cannot be in both."""
    return {"check_sample_weight_equivalence_on_dense_data": by_row.__doc__}


@parametrize_with_checks([Corex("auto"), HierarchicalCorex("auto")], expected_failed_checks=by_row)
def test_scikit_learn_contract_of_automatic_sizes(estimator, check):
    check(estimator)
