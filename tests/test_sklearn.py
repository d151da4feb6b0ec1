"""The scikit-learn contract."""

from sklearn.utils.estimator_checks import parametrize_with_checks

from hicorex import Corex, HierarchicalCorex


@parametrize_with_checks([Corex(), HierarchicalCorex()])
def test_scikit_learns_checks_pass(estimator, check):
    check(estimator)


@parametrize_with_checks([Corex("auto", n_states=2), HierarchicalCorex("auto", n_states=2)])
def test_scikit_learns_checks_pass_with_automatic_sizes(estimator, check):
    check(estimator)
