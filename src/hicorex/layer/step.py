"""One step: the next state from the sums of a pass."""

from collections.abc import Sequence

import numpy as np

from hicorex.engine import Engine
from hicorex.layer.one_pass import PassSums
from hicorex.layer.state import State
from hicorex.layer.structure import Measured, Rule
from hicorex.marginals.base import PRIOR_SAMPLES, Block, Estimate, Parameters, Questions


def update(
    state: State, sums: PassSums, blocks: Sequence[Block], rule: Rule, engine: Engine
) -> tuple[State, np.ndarray]:
    """The next state from the sums of a pass over these blocks, and what the objective counted twice, (J,).

    The marginals are those of the labels (eq:marg), so that the labels of the next pass are those of eq:update. At
    fixed alpha sum_i alpha_ij I(Y_j:X_i) - I(Y_j:X) of each factor (eq:AI; eq:m1 where alpha is 1) never falls
    (Thm convergence). Then alpha follows by the rule, but for what some factors hold.
    """
    n_states = len(state.prior)
    prior = (sums.label_sum + PRIOR_SAMPLES / n_states) / (blocks[0].total + PRIOR_SAMPLES)

    def of_block(b: int) -> tuple[Parameters, np.ndarray, Questions, np.ndarray]:
        block, answers = blocks[b], sums.answers[b]
        parameters = block.estimate(answers.sums, sums.label_sum, PRIOR_SAMPLES)
        estimate = Estimate(parameters, prior, block.dependence(parameters, prior))
        held = rule.held(b, state.n_starts)
        measured = Measured(block, estimate, state.n_starts, state.questions[b], answers, sums.measured_share, held)
        alpha = rule.alpha(measured)
        return parameters, alpha, rule.questions(measured, alpha), rule.excess(measured, state.alpha[b], alpha)

    parameters, alpha, questions, excess = zip(*engine.map(of_block, range(len(blocks))), strict=True)
    return rule.kept(State(prior, list(parameters), list(alpha), list(questions), state.n_starts)), sum(excess)
