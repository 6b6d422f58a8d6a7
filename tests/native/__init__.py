"""The native front behind a whole server; `make native` builds it."""
