"""Samples that failed: what the policy of a loader makes of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

from penstock.data._iteration import raise_from_loop
from penstock.data._tally import Tally

OnError = Literal["raise", "skip", "replace"]
_KEPT = 10_000


class SampleError(NamedTuple):
    """A sample that could not be delivered: what :meth:`Loader.errors` lists."""

    epoch: int
    position: int
    sample: str
    """What it is called: the file and the key in it."""
    error: str


class TooManyErrors(RuntimeError):
    """More samples have failed than `max_errors` allows."""


class Failures:
    """The failed samples of a loader, in batches that its loop has received."""

    def __init__(self, on_error: OnError, most: int | None, sequential: bool) -> None:
        self.count = 0
        self.listed: list[SampleError] = []
        self._on_error = on_error
        self._most = most
        self._sequential = sequential

    def copy(self) -> Failures:
        other = Failures(self._on_error, self._most, self._sequential)
        other.count, other.listed = self.count, list(self.listed)
        return other

    def judge(
        self,
        errors: Sequence[tuple[int, str, BaseException, bool, bool, bool]],
        epoch: int,
        tally: Tally,
    ) -> None:
        """What becomes of the failures of a batch, in the order of positions; raises if that is
        the policy."""
        noted: list[SampleError] = []
        for position, sample, error, is_io, filling, replaced in errors:
            tally.failed += not filling
            passed_over = replaced or (self._on_error == "skip" and not is_io)
            if not passed_over or not isinstance(error, Exception):  # SystemExit and the like
                if sample not in str(error):
                    error.add_note(f"sample {sample}, position {position}")
                if self._sequential and self._on_error == "replace":
                    error.add_note(
                        "a sequential plan has no other sample to replace it by; "
                        'on_error="skip" leaves it out'
                    )
                raise_from_loop(error)
            if filling:
                continue
            words = f"{type(error).__name__}: {error}"
            noted.append(SampleError(epoch, position, sample, words))
            count = self.count + len(noted)
            if self._most is not None and count > self._most:
                raise TooManyErrors(
                    f"{count} samples have failed, max_errors is {self._most}; "
                    f"the last one: {sample}: {error}"
                ) from error
        # Only now: a batch that raises is not delivered, and comes again after a restart.
        self.count += len(noted)
        self.listed += noted[: _KEPT - len(self.listed)]
