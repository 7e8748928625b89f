from .module_graph import read_module as read_module
