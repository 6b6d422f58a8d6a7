"""Shared by the name server and the pipeline; imports the standard library only.

The pipeline runs on clusters from one zip without the rest of the package. This package is in that zip.
"""

__all__: list[str] = []
