"""The policy files of this machine and of a repository, and the one evaluator made of them."""
