"""Validated settings: what config.toml says, checked and frozen."""

from push.config.load import config_path, load, load_or_default, without_file
from push.config.settings import Settings

__all__ = ["Settings", "config_path", "load", "load_or_default", "without_file"]
