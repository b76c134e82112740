"""Faults of native code end the process, also where an engine is embedded in it.

The engine takes the signals of faults for itself as it is opened, reports them, and waits for
itself: a process that aborted (memory that is not given, say) stood on with its store locked and
its port taken, and nobody began it anew.
"""

import ctypes
import faulthandler
import signal
import sys

FAULTS = (signal.SIGABRT, signal.SIGBUS, signal.SIGFPE, signal.SIGILL, signal.SIGSEGV,
          signal.SIGSYS, signal.SIGTRAP)  # fmt: skip
BY_DEFAULT = None
"""SIG_DFL: the process ends, and tells its parent by which signal."""


def faults_end() -> None:
    """Let faults end the process, and Python say before where, if it was asked to (faulthandler).

    Signals of C libraries: Python changes its own from the main thread alone, and knows no others.
    """
    told = faulthandler.is_enabled()
    faulthandler.disable()
    change = ctypes.CDLL(None).signal
    change.argtypes, change.restype = (ctypes.c_int, ctypes.c_void_p), ctypes.c_void_p
    for each in FAULTS:
        change(each, BY_DEFAULT)
    if told and sys.__stderr__ is not None:
        faulthandler.enable(sys.__stderr__)
