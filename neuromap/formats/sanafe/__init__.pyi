from .network import SanafeCells as SanafeCells
from .network import sanafe_architecture as sanafe_architecture
from .network import sanafe_cells as sanafe_cells
from .network import sanafe_network as sanafe_network
