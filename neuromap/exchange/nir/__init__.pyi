from .export_nir import nir_graph as nir_graph
from .export_nir import to_nir as to_nir
from .float_network import TOOLS as TOOLS
from .import_nir import from_nir as from_nir
