"""The command line: parses and prints, computes nothing. One module per command; importing it adds the command."""

from . import analyze, reproduce, study
from .root import app, main

__all__ = ["analyze", "app", "main", "reproduce", "study"]
