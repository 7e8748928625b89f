from .law import first_difference as first_difference
from .law import require_verified as require_verified
from .law import verify as verify
from .verdict import Verification as Verification
from .wave import MeasuredResponse as MeasuredResponse
from .wave import measure as measure
