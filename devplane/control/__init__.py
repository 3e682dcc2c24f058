"""What a client and the daemon say to each other over the control socket."""
