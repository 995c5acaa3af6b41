"""Headgate beside a Connect server, in a process of its own: `start` runs first, and `answering` answers."""
