"""Push: a messaging gateway for a personal assistant."""

__version__ = "0.1.0"
