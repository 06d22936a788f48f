"""`python -m tests.newcomer`: the journey from a clean copy to a running gateway, with a real install.

As another user, where root runs it and such a user has a Python that is new enough.
"""

from __future__ import annotations

from tests.newcomer.journey import Journey
from tests.newcomer.machine import machine, stranger_uid

if __name__ == "__main__":
    uid = stranger_uid()
    print("The newcomer is", "whoever runs this" if uid is None else f"user {uid}", flush=True)
    with machine(uid) as made:
        Journey(made).travel()
