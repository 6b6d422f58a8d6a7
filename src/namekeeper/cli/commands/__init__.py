"""The sub-commands of mqadmin, a module for each family; `cli/mqadmin.py` loads one when it is asked for."""

__all__: list[str] = []
