from .bench_report import BenchReport as BenchReport
from .characterisation import characterisation_program as characterisation_program
