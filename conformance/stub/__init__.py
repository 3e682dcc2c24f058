"""The scripted model server, in the wire formats that the agents' models speak."""
