"""Known bugs, put into a copy of the sources one by one: each must be caught by the tests named with it.

`python -m tests.mutants` runs them all; `python -m tests.mutants NAME ...` runs some.
"""
