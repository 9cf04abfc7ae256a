from .tasks import make_tasks, from_optima
from .simulate import simulate
