"""Incidents of the present and the recent past, out of histories, as gold's table `incident` defines them."""

__all__: list[str] = []
