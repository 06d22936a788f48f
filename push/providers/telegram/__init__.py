"""Telegram, through its Bot API.

Owns everything that knows Telegram; does not own what is kept of a message, nor when one is sent.
"""
