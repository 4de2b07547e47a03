"""Contenders take turns, round after round, each time in another order, so that a change in the
machine's load meets all of them. What a turn gives is what its process printed: `count` things in
`seconds`, with `cpu` seconds, the process's `peak` of memory, and the number of its `round`."""

import statistics
from collections.abc import Callable, Mapping, Sequence
from typing import Any

Turn = dict[str, Any]


def take_turns(
    names: Sequence[str], rounds: int, start: Callable[[str], Turn | str]
) -> tuple[dict[str, list[Turn]], dict[str, str]]:
    """The turns of each, and why others have none. `start` answers with words if it cannot run."""
    turns: dict[str, list[Turn]] = {name: [] for name in names}
    missing: dict[str, str] = {}
    for number in range(rounds):
        first = number % max(len(names), 1)
        for name in [*names[first:], *names[:first]]:
            got = start(name)
            if isinstance(got, str):
                missing[name] = got
            else:
                turns[name].append({**got, "round": number})
    return turns, missing


def table(
    things: str,
    turns: Mapping[str, list[Turn]],
    ours: str,
    notes: Mapping[str, str],
    checks: Mapping[str, str],
) -> None:
    """Medians of the rounds. A ratio is the median of the rounds' own ratios to our row."""
    rates = {
        name: {one["round"]: one["count"] / one["seconds"] for one in taken}
        for name, taken in turns.items()
        if taken
    }
    our_rates = rates.get(ours, {})
    our_cpu = _cpu(turns.get(ours) or [{"cpu": float("nan"), "count": 1}])
    print(f"| | {things}/s | range | times us | CPU s per 1000 | times us | peak MB | checked |")
    print("|---|---|---|---|---|---|---|---|")
    medians = {name: statistics.median(its.values()) for name, its in rates.items()}
    for name, median in sorted(medians.items(), key=lambda one: -one[1]):
        its, both = rates[name], rates[name].keys() & our_rates.keys()
        ratio = statistics.median(
            [its[number] / our_rates[number] for number in both] or [float("nan")]
        )
        cpu = _cpu(turns[name])
        cells = [
            name + (f" ({notes[name]})" if notes.get(name) else ""),
            _figure(median),
            f"{_figure(min(its.values()))} to {_figure(max(its.values()))}",
            f"{ratio:.2f}",
            f"{cpu:.2f}" if cpu >= 0.1 else f"{cpu:.4f}",
            f"{cpu / our_cpu:.2f}",
            f"{max(one['peak'] for one in turns[name]) / 1e6:.0f}",
            checks[name],
        ]
        print("| " + " | ".join(cells) + " |")


def _figure(rate: float) -> str:
    return f"{rate:,.0f}" if rate >= 100 else f"{rate:.2f}"


def _cpu(turns: Sequence[Turn]) -> float:
    return statistics.median(1000 * one["cpu"] / one["count"] for one in turns)
