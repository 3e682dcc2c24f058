"""Devplane drives coding agents and keeps a person in control of them."""

__version__ = "0.1.0"
