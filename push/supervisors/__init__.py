"""What keeps the gateway running on a machine: systemd on Linux, launchd on a Mac. One interface, `base`."""
