"""Devplane against real agents, offline: a scripted model server, and how each agent is pointed at it."""
