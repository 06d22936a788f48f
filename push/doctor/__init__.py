"""Checks of the machine, the configuration and the state, each with the next command."""

from push.doctor.checks import examine
from push.doctor.findings import Finding, Status, mended

__all__ = ["Finding", "Status", "examine", "mended"]
