"""`python -m tests.torture`: one torture run with its numbers, or, with `--without`, a negative control.

Exit code 0: nothing went wrong. With `--without`, 0 means that something did, as it must.
"""

from __future__ import annotations

import argparse
import dataclasses
import random
import shutil
import signal
import sys
import tempfile
from pathlib import Path

from tests.crash.site import site
from tests.torture.controls import CONTROLS
from tests.torture.judgement import Judgement, judge
from tests.torture.scene import Plan, Scene


def main() -> int:
    """Parse, run, print, judge."""
    parser = argparse.ArgumentParser(prog="python -m tests.torture", description=__doc__)
    parser.add_argument("--seed", type=int, default=None, help="default: a new one, printed")
    parser.add_argument("--conversations", type=int, default=200)
    parser.add_argument("--messages", type=int, default=20)
    parser.add_argument("--workers", type=int, default=16)
    parser.add_argument("--consumers", type=int, default=1)
    parser.add_argument("--kills", type=int, default=12, help="of consumers; as many of runners, a quarter of others")
    parser.add_argument("--every", type=float, default=3.0, help="seconds between kills, on average")
    parser.add_argument("--stop", action="store_true", help="end consumers with SIGTERM instead of SIGKILL")
    parser.add_argument("--without", choices=CONTROLS, default="", help="a negative control, of its own size")
    parser.add_argument("--sound", action="store_true", help="with --without: the same run, nothing removed")
    parser.add_argument("--keep", action="store_true", help="keep the home")
    options = parser.parse_args()
    seed = random.randrange(2**31) if options.seed is None else options.seed
    if options.without:
        plan = dataclasses.replace(
            CONTROLS[options.without].plan, seed=seed, without="none" if options.sound else options.without
        )
    else:
        plan = Plan(
            seed,
            options.conversations,
            options.messages,
            options.workers,
            options.consumers,
            consumer_kills=options.kills,
            runner_kills=options.kills,
            feeder_kills=options.kills // 4,
            screen_kills=options.kills // 4,
            every_seconds=options.every,
            signal=signal.SIGTERM if options.stop else signal.SIGKILL,
        )
    print(plan)
    home = Path(tempfile.mkdtemp(prefix="torture", dir="/tmp"))
    with site(home) as place:
        scene = Scene(place, plan, lambda line: print("  ", line, flush=True))
        record = scene.run()
        judgement = judge(scene)
        verified = place.run("verify", seconds=300).wait()
    print(f"{record.seconds:.0f} s, longest silence {record.longest_silence:.1f} s, kills {record.kills}")
    print(_words(judgement), f"verify={verified}")
    print("\n".join(judgement.findings[:5]))
    if options.keep:
        print(home)
    else:
        shutil.rmtree(home)
    return int(judgement.is_clean == (bool(options.without) and not options.sound))


def _words(judgement: Judgement) -> str:
    names = [each.name for each in dataclasses.fields(judgement) if each.name != "findings"]
    return " ".join(f"{name}={getattr(judgement, name)}" for name in names)


if __name__ == "__main__":
    sys.exit(main())
