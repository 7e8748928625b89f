from .answer.exploration import Exploration as Exploration
from .answer.limits import Limits as Limits
from .answer.rows import Candidate as Candidate
from .answer.rows import ExploredRow as ExploredRow
from .document import exploration_schema as exploration_schema
from .explore_each import sweep_explorations as sweep_explorations
