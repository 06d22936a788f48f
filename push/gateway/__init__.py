"""The gateway's own sense: intake, commands, what an agent is asked, what a person is told."""
