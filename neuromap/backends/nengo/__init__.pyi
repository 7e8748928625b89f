from .placement import Placement as Placement
from .placement import add_params as add_params
from .simulator import RunReport as RunReport
from .simulator import Simulator as Simulator
