"""Backups of a home: one file that holds its state, and bringing it up elsewhere so that nothing is answered twice."""
