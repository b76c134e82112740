"""How a command line ends: its exit code, and one sentence where it could not do its work."""

import errno
import os
import sys
from typing import Any

import typer

from service.failure import ExitCode, Failure

FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
"""The place that output goes to takes no more."""


def ended(command: Any, arguments: list[str] | None) -> int:
    """Run one command line and give its exit code; anything unexpected is raised."""
    try:
        code = command.main(args=arguments, prog_name="hopsight", standalone_mode=False)
        sys.stdout.flush()
    except Failure as failure:
        typer.echo(f"hopsight: {failure}", err=True)
        return failure.code
    except (KeyboardInterrupt, typer.Abort):
        return ExitCode.INTERRUPTED
    except OSError as error:
        return _not_written(error)
    except SystemExit as leaving:
        # typer ends the process by itself when a pipe breaks inside a command.
        if isinstance(leaving.__context__, BrokenPipeError):
            return _reader_gone()
        raise
    except Exception as error:
        if hasattr(error, "format_message"):
            said = _sentence(error) or "a command is missing"
            verb = getattr(getattr(error, "ctx", None), "command_path", "hopsight")
            typer.echo(f"hopsight: {said}; see `{verb} --help`", err=True)
            return ExitCode.USAGE
        raise
    return int(code or 0)


def _sentence(error: Exception) -> str:
    """The message of a command-line error on one line, without a final full stop."""
    formatted: Any = getattr(error, "format_message", lambda: str(error))()
    told = " ".join(str(formatted).split()).rstrip(".")
    return told.replace(": Input should", ": should")  # as pydantic begins what typer passes on


def _reader_gone() -> ExitCode:
    """The reader of a pipe has gone (`| head`): nobody is left to tell."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return ExitCode.OK


def _not_written(error: OSError) -> ExitCode:
    """Whoever takes the output has gone or takes no more; any other error is raised again."""
    if isinstance(error, BrokenPipeError):
        return _reader_gone()
    if error.errno not in FULL:
        raise error
    _reader_gone()
    reason = os.strerror(error.errno).lower()
    typer.echo(f"hopsight: the output does not fit where it goes: {reason}", err=True)
    return ExitCode.UNAVAILABLE
