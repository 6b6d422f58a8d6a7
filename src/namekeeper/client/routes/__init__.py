"""Routes of a client: fetched from name servers, kept in tables, watched for changes."""

__all__: list[str] = []
