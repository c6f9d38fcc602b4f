"""Runs a module as a program that ends with its supervisor: ``python -m jobs.watched MODULE ARGUMENTS``."""

import os
import runpy
import sys

from jobs.parent import end_with_supervisor

if __name__ == "__main__":
    end_with_supervisor(os.environ)
    module = sys.argv[1]
    sys.argv = sys.argv[1:]
    runpy.run_module(module, run_name="__main__", alter_sys=True)
