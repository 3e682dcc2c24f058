"""The command line: one file a verb. Acts through `control` alone, reads through `store.queries` alone."""
