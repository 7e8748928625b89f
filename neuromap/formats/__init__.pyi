from . import nir as nir
from . import ranc as ranc
