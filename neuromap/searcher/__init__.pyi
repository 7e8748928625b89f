from .options import SearchOptions as SearchOptions
from .result import SearchedClass as SearchedClass
from .result import SearchPoint as SearchPoint
from .result import SearchResult as SearchResult
