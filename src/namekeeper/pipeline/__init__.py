"""The data pipeline on Spark: from journals to tables, answers and reports.

Imports nothing of Namekeeper outside itself, so that it runs from one zip where only pyspark and pyarrow are
(docs/decisions/0017).
"""

__all__: list[str] = []
