"""The data pipeline on Spark: from journals to tables, answers and reports (design.md 7).

Imports nothing of Namekeeper outside itself, so that it runs from one zip where only pyspark and pyarrow are.
"""

__all__: list[str] = []
