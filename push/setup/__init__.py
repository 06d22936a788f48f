"""Setting up: the assistant's folder, what the configuration is to say, the bot, and who may write to it.

Owns the steps as values; the words of the dialog stand in `push.cli.init`.
"""
