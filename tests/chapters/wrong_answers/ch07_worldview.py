"""Answers to the exercises of a chapter."""

PLANTED = {}
