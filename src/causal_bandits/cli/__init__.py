"""The command line: parses and prints, computes nothing. One module per command; importing it adds the command."""

from . import compare, reproduce
from .root import app, main

__all__ = ["app", "compare", "main", "reproduce"]
