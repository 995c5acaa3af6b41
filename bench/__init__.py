"""Measure Headgate; each module is a program that prints a table and fails when a bar is missed."""
