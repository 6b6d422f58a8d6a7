"""The format of records, lines and segment names: `v1.json`, and the code that writes and reads them."""

__all__: list[str] = []
