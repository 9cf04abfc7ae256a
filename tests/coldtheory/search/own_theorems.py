"""Three theorems as a researcher might write them: a true one, a false one, and a false one that is hard to break."""

HEAD = """
import numpy as np

from coldtheory.bounds import bound, form

"""

TRUE = f'''"""What a past task has lost since it was learnt is at most its queue and delta for each task since."""
{HEAD}
@form
def printed(facts):
    t = np.arange(1, facts.T + 1)
    age = np.maximum(t[:, None] - t, 0)
    terms = {{"queue": facts.Q[..., 1:, :], "tolerance": facts.delta[..., None, None] * age}}
    return bound(facts, facts.forgetting, terms, premises=["Case 1", "plain queue"])
'''

#: True with the tolerance of each task that has passed: see TRUE.
FALSE = f'''"""What a past task has lost since it was learnt is at most its queue."""
{HEAD}
@form
def printed(facts):
    return bound(facts, facts.forgetting, {{"queue": facts.Q[..., 1:, :]}}, premises=["Case 1", "plain queue"])
'''

#: All queues can be as full as one can: the model rests on one optimum, and one large step takes it to another. That
#: every task but the last has its optimum in one place, with the largest step and next to no tolerance, is rare among
#: random runs, and each of these helps a little.
HARD = f'''"""After six tasks the queues are full to three quarters at most, on average."""
{HEAD}
@form(T=6, d=1)
def printed(facts):
    cap = facts.l * facts.r**2 / 2
    premises = ["Case 1", "plain queue", "gradient descent", "eta <= 1/alpha_t", "mean weights"]
    lhs, terms = facts.Q[..., -1, :-1].mean(axis=-1), {{"three quarters": 0.75 * cap}}
    return bound(facts, lhs, terms, premises=premises, where={{"six tasks": facts.T == 6}})
'''
