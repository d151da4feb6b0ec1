"""The scikit-learn contract."""

from sklearn.utils.estimator_checks import parametrize_with_checks

from hicorex import Corex, HierarchicalCorex


def of_classifiers(estimator):
    """The check takes any predict_proba for that of a classifier; test_sparse.py holds sparse to dense tables."""
    return dict.fromkeys(("check_estimator_sparse_array", "check_estimator_sparse_matrix"), of_classifiers.__doc__)


@parametrize_with_checks([Corex(), HierarchicalCorex()], expected_failed_checks=of_classifiers)
def test_scikit_learn_contract(estimator, check):
    check(estimator)


def by_row(estimator):
    """Sizes are chosen on folds, which are drawn by row: a row of weight two cannot be in both."""
    kinds = ("dense", "sparse") if isinstance(estimator, Corex) else ()
    return {f"check_sample_weight_equivalence_on_{kind}_data": by_row.__doc__ for kind in kinds} | of_classifiers(
        estimator
    )


@parametrize_with_checks([Corex("auto"), HierarchicalCorex("auto")], expected_failed_checks=by_row)
def test_scikit_learn_contract_of_automatic_sizes(estimator, check):
    check(estimator)
