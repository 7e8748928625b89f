from .image import RancCase as RancCase
from .image import RancImage as RancImage
from .image import ranc_image as ranc_image
from .to_json import ranc_config as ranc_config
from .to_json import ranc_input as ranc_input
from .to_json import read_json as read_json
from .vectors import ranc_vectors as ranc_vectors
from .vectors import read_vectors as read_vectors
