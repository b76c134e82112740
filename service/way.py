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
LESS = 5
"""Nice value of threads that give way: a third of the weight of others."""
LEAST = {"MergeMutate": 15}
"""That of threads, by the begin of their name, whose work nobody waits for: those that merge parts
have a tenth of the weight of those that read and insert."""
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
            if number in own or (name := (task / "comm").read_text()).startswith(JUDGING):
                continue
            nice = next((LEAST[begin] for begin in LEAST if name.startswith(begin)), LESS)
            # Those to which the engine itself gives more weight keep it.
            if 0 <= os.getpriority(os.PRIO_PROCESS, number) < nice:
                os.setpriority(os.PRIO_PROCESS, number, nice)
