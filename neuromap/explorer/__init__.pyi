from .answer.exploration import Exploration as Exploration
from .answer.limits import Candidate as Candidate
from .answer.limits import ExploredRow as ExploredRow
from .answer.limits import Limits as Limits
from .document import exploration_schema as exploration_schema
from .explore import sweep_explorations as sweep_explorations
