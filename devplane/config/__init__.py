"""``devplane.toml``: what a repository says about how it is worked on.

Only what this package names is interpreted. Tables that other parts own are let
through whole; a table that nobody owns is an error, since a misspelt name would
otherwise switch something off without a word.
"""

from devplane.config.settings import (
    CONFIG_NAME,
    OWNED_ELSEWHERE,
    Budget,
    Config,
    Gates,
    Workspace,
    load,
    parse,
)
from devplane.config.table import NEVER, ConfigBroken, seconds

__all__ = [
    "CONFIG_NAME",
    "NEVER",
    "OWNED_ELSEWHERE",
    "Budget",
    "Config",
    "ConfigBroken",
    "Gates",
    "Workspace",
    "load",
    "parse",
    "seconds",
]
