"""What a record, a line and a segment's name are: `v1.json`, and the code that writes and reads them."""

__all__: list[str] = []
