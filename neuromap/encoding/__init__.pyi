from .frames import InputEncoding as InputEncoding
from .frames import encode as encode
from .frames import encode_set as encode_set
from .input_tables import input_encodings as input_encodings
