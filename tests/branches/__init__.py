"""Branch coverage of each package by the unit tests, and the floors below which it must not fall."""
