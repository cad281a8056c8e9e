"""Checkers of a chapter."""

CHECKERS: dict = {}
