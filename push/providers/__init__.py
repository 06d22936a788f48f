"""Channels: one module each, one outside technology each. They see no database."""
