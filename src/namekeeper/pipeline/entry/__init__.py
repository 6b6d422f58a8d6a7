"""Views over the tables of a warehouse, with dates and timestamps: where people and BI tools start."""

__all__: list[str] = []
