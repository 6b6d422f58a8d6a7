"""Sources of history: journals, running name servers, warehouses."""

__all__: list[str] = []
