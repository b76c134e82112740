"""Threads that no Python runs in give way to those where it does.

Only one thread at a time runs Python. When it has that right and no processor, because the store's
own threads keep all of them busy, every other one waits with it: answers, and passes over frames.
Linux weighs threads one by one (`setpriority(2)`), and anybody may give a thread of theirs less
weight.
"""

import contextlib
import os
import sys
import threading
from pathlib import Path

TASKS = Path("/proc/self/task")
"""The threads of this process, where Linux tells of them."""
LESS = 10
"""Nice value of threads that give way: a tenth of the weight of others."""
SWITCH_S = 0.001
"""How long one thread may keep the others from running Python. A pass over frames asks for that
right a thousand times, and would wait as often behind whatever else Python does."""
JUDGING = "polars"
"""Begin of the name of threads that compute for one where Python runs, which waits for them."""


def take_turns() -> None:
    """Let threads that run Python take turns quickly."""
    sys.setswitchinterval(SWITCH_S)


def give_way() -> None:
    """Let the threads of the store give way that do not yet."""
    own = {thread.native_id for thread in threading.enumerate()}
    for task in TASKS.iterdir() if TASKS.is_dir() else ():
        number = int(task.name)
        # A thread may end while it is looked at.
        with contextlib.suppress(OSError):
            foreign = number not in own and os.getpriority(os.PRIO_PROCESS, number) == 0
            if foreign and not (task / "comm").read_text().startswith(JUDGING):
                os.setpriority(os.PRIO_PROCESS, number, LESS)
