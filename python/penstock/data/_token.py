"""The token: where a loader is, as a small plain dict."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

VERSION = 1


@dataclass(frozen=True)
class Token:
    epoch: int
    position: int
    """Of the global order: what comes before it was delivered, by all ranks together."""
    errors: int
    """Of this rank, for `max_errors`."""
    data: str
    """Digest of record counts and names."""
    order: str
    """Digest of the plan's order."""
    records: int
    plan: str
    """The order in words, for messages."""
    source: Any = None
    """Of a sequential plan: the state of the iterable."""
    version: int = VERSION

    def to_dict(self) -> dict[str, Any]:
        return {"format": "penstock", **vars(self)}

    @classmethod
    def from_dict(cls, values: Any) -> Token:
        if not isinstance(values, dict) or values.get("format") != "penstock":
            raise ValueError("load_state_dict: this is not what state_dict() of a loader returns")
        if values.get("version") != VERSION:
            raise ValueError(
                f"load_state_dict: the token is of version {values.get('version')}, this penstock "
                f"reads version {VERSION}"
            )
        try:
            token = cls(**{name: value for name, value in values.items() if name != "format"})
        except TypeError as error:
            raise ValueError(f"load_state_dict: the token is damaged: {error}") from None
        for name in ("epoch", "position", "errors", "records"):
            value = getattr(token, name)
            if type(value) is not int or not 0 <= value <= 2**62:
                raise ValueError(f"load_state_dict: the token is damaged: {name} is {value!r}")
        return token

    def check(self, mine: Token) -> None:
        """Raises if this token is not of the plan and the data that `mine` is of."""
        if self.data != mine.data:
            more = (
                f"it had {self.records} records, there are {mine.records} now"
                if self.records != mine.records
                else "as many records, but with other names"
            )
            raise ValueError(f"load_state_dict: the token is of other data: {more}")
        if self.order != mine.order:
            raise ValueError(
                "load_state_dict: the token is of another order, and its position means something "
                f"else here. Then: {self.plan}. Now: {mine.plan}"
            )
