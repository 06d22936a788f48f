"""Checks of the machine, the configuration, the state and the service, each with the next command."""

from push.doctor.agents import ask as ask_agents
from push.doctor.examination import examine
from push.doctor.findings import Finding, Status, mended

__all__ = ["Finding", "Status", "ask_agents", "examine", "mended"]
