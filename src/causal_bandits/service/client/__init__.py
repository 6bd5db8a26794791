"""A client with the methods of `Study`; it needs nothing but this package."""

from .client import Client
from .remote import RemoteStudy

__all__ = ["Client", "RemoteStudy"]
