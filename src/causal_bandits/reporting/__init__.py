"""Figures, tables, pages and progress. The only package that imports matplotlib."""

from .plots import draw_graphs

__all__ = ["draw_graphs"]
