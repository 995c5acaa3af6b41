"""Proof on queries and data that nobody here wrote: TPC-H, TPC-DS, or your own tables, with Headgate off and on."""
