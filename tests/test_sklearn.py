"""The scikit-learn contract."""

from sklearn.utils.estimator_checks import parametrize_with_checks

from hicorex import Corex


@parametrize_with_checks([Corex()])
def test_scikit_learn_contract(estimator, check):
    check(estimator)
