"""Examples for the help of every noun: what one types, and what it is for.

Owns these lines alone; what a command does is told by the command. A test parses each of them.
"""

from __future__ import annotations

from typing import Final

#: Noun -> (a command without `push`, what it is for).
EXAMPLES: Final[dict[str, tuple[tuple[str, str], ...]]] = {
    "init": (
        ("init", "set up everything, with questions"),
        ("init ~/assistant --agent claude", "in a folder of your own, with this agent"),
    ),
    "run": (
        ("run", "until Ctrl-C; agents that work then go on by themselves"),
        ("run --config work.toml", "with another configuration"),
    ),
    "poll": (
        ("poll", "beside one `push consumer` or more"),
        ("poll --once", "store what is there now, and end"),
    ),
    "consumer": (
        ("consumer", "beside a `push poll`"),
        ("consumer --drain", "until nothing is open and due, then end"),
    ),
    "chat": (
        ("chat", "a conversation, with a prompt"),
        ('chat "What is on today?"', "one message, one answer"),
        ("chat --user ann", "a conversation of its own"),
    ),
    "status": (
        ("status", "once, for you"),
        ("status --watch", "in place, every two seconds, until Ctrl-C"),
        ("status --watch 60 --json", "one JSON object a line, every minute"),
    ),
    "turns": (
        ("turns list --state open", "what waits or runs"),
        ("turns show 12", "a message, its history and its answer"),
        ("turns cancel 12", "stop it, also while its agent runs"),
    ),
    "conversations": (
        ("conversations list", "who talks with the assistant"),
        ("conversations show local:ann", "what was said"),
        ("conversations pause telegram:dm:5", "take messages, and begin none"),
        ("conversations resume telegram:dm:5", "go on with what waits"),
    ),
    "allow": (
        ("allow list", "who may write, and who was refused"),
        ("allow add 123456789 --note Ann", "let a person write"),
        ("allow remove 123456789", "no longer"),
    ),
    "retries": (
        ("retries list", "all that waits or failed, with the next step"),
        ("retries show d7", "one of it, with its texts"),
        ("retries now d7", "try it at once"),
        ("retries drop d7", "give it up"),
    ),
    "usage": (
        ("usage", "the last 30 days, by day, agent and conversation"),
        ("usage --days 1", "today"),
        ("usage --days 7 --by agent", "who did how much in a week"),
    ),
    "audit": (
        ("audit tail", "the newest records"),
        ("audit tail --follow", "and what comes, until Ctrl-C"),
        ("audit tail -n 5 --event backend_run_failed", "the last five failures"),
        ("audit tail --follow --json", "one JSON object a line"),
    ),
    "verify": (
        ("verify", "every promise, from push.db and state.json"),
        ("verify --json", "for a program; exit code 1 names damages"),
    ),
    "doctor": (
        ("doctor", "what is wrong, each with the next command"),
        ("doctor --fix", "and repair what is safe to repair"),
    ),
    "service": (
        ("service install", "run at login, and after a crash"),
        ("service status", "is it there, is it current?"),
        ("service uninstall", "no longer"),
    ),
    "reload": (("reload", "after a change of config.toml"),),
    "backup": (
        ("backup create push-backup.tar.gz", "a copy, beside a gateway that works"),
        ("backup verify push-backup.tar.gz", "is it whole?"),
        ("backup restore push-backup.tar.gz --to ~/copy", "as a home, which must be empty"),
    ),
    "config": (
        ("config validate", "is it right? what is missing?"),
        ("config show", "every setting in effect, without secrets"),
        ("config path", "where it is"),
    ),
}


def epilog(noun: str) -> str | None:
    """The end of a noun's help; None where it has no examples."""
    found = EXAMPLES.get(noun)
    if found is None:
        return None
    width = max(len(words) for words, _ in found)
    return "\n".join(["\b", "Examples:", *(f"  push {words.ljust(width)}  {purpose}" for words, purpose in found)])
