"""Frozen values, enums and transition tables. Imports nothing but the ground."""
