"""The other process: iterates over what a function makes, again and again."""

from __future__ import annotations

import enum
import os
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from penstock.pipeline._elsewhere.wire import Wire


class Say(enum.IntEnum):
    """What is said on the wire: first by the worker, then to it."""

    READY = 1
    NOT_READY = 2
    STARTED = 3
    ITEM = 4
    FINISHED = 5
    FAILED = 6
    START = 11
    STOP = 12
    MORE = 13  # an item was taken: there is room for another
    END = 14


class _Ended(Exception):
    """The other side wants no more."""


def serve(
    wire: Wire,
    other_end: Wire | None,
    fn: Callable[[], Iterable[Any]],
    initializers: Sequence[Callable[[], None]],
    buffer_size: int,
) -> None:
    """The life of the worker. It ends when it is told to, or when the other process is gone."""
    if other_end is not None:
        other_end.close()  # a copy that fork() made
    exit_with_parent()
    try:
        try:
            for initializer in initializers:
                initializer()
        except Exception as error:
            wire.send(Say.NOT_READY, f"Initializer failed: {error}")
            return
        try:
            iterable = fn()
        except Exception as error:
            wire.send(Say.NOT_READY, f"Failed to create the iterable: {error}")
            return
        wire.send(Say.READY)
        while True:
            if _told(wire) == Say.START:
                wire.send(Say.STARTED)
                if not _iterate(wire, iterable, buffer_size):
                    return
    except (_Ended, BrokenPipeError, ConnectionResetError):
        return


def _told(wire: Wire, timeout: float | None = None) -> int | None:
    try:
        heard = wire.receive(timeout)
    except EOFError:
        raise _Ended from None
    if heard is None:
        return None
    if heard[0] == Say.END:
        raise _Ended
    return heard[0]


def _iterate(wire: Wire, iterable: Iterable[Any], buffer_size: int) -> bool:
    """Once from front to back, or until told to stop. False: it cannot be iterated any more."""
    try:
        items = iter(iterable)
    except Exception as error:
        wire.send(Say.FAILED, f"Failed to create the iterator: {error}")
        return False
    room = buffer_size
    try:
        while True:
            while (told := _told(wire, None if room == 0 else 0.0)) is not None:
                if told == Say.STOP:
                    wire.send(Say.FINISHED)
                    return True
                room += told == Say.MORE
            try:
                wire.send(Say.ITEM, next(items))
            except StopIteration:
                wire.send(Say.FINISHED)
                return True
            except (BrokenPipeError, ConnectionResetError):
                raise
            except Exception as error:
                wire.send(Say.FAILED, f"Failed to fetch the next item: {error}")
                return False
            room -= 1
    finally:
        if hasattr(items, "close"):
            items.close()


def exit_with_parent(interval: float = 1.0) -> None:
    """Ends this process, whatever it is doing, soon after the one that started it is gone."""
    parent = os.getppid()

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(interval)
        os._exit(1)

    threading.Thread(target=watch, name="penstock-watch-parent", daemon=True).start()
