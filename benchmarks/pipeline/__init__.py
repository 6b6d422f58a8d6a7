"""The pipeline beside Spark's bare parse-and-write and DuckDB, on journals as a name server writes them."""
