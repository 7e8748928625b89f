from .own_images import image_sets as image_sets
from .sources import load_images as load_images
from .tracks import ImageSet as ImageSet
