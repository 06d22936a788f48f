"""iMessage, through the database and the scripting of Messages on a Mac.

Owns everything that knows Messages; does not own what is kept of a message, nor when one is sent.
"""
