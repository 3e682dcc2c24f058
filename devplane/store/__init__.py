"""The one database of a home: `log` writes it, `queries` reads it, nothing else opens it."""
