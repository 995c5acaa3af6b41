"""Measure joins and MERGE over Delta and Iceberg tables, with Headgate and without; see ``python -m bench.tables``."""
