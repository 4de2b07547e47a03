"""The report: one HTML page that needs nothing else, with the verdict first."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Any, Protocol

import penstock
from penstock._printable import printable
from penstock.insight import _charts, _plot
from penstock.insight._bottleneck import Bottleneck, judge
from penstock.insight._headspace import Headspace
from penstock.pipeline import StageStats
from penstock.pipeline._stats import cells, duration, ready

_LISTED = 100  # samples that failed
_FULL_SPEED = 0.5  # of the time of a training step: a loop that took less over a batch did less
_STYLE = """
:root{--paper:#fff;--ink:#1d2329;--soft:#69737d;--line:#dfe3e8;--fill:#f4f6f8;
--work:#b4540a;--wait:#c9d3dd;--blocked:#8aa0b4;--good:#0a6b4f;--shade:#e8f2ee}
@media(prefers-color-scheme:dark){:root{--paper:#14181c;--ink:#e6e9ec;--soft:#98a2ab;
--line:#30373e;--fill:#1d2329;--work:#f08a3c;--wait:#38434d;--blocked:#5c7186;--good:#4cc79a;
--shade:#1b2a25}}
*{box-sizing:border-box}
body{overflow-wrap:anywhere}
body{margin:0;background:var(--paper);color:var(--ink);font:16px/1.5 system-ui,sans-serif}
main{max-width:64rem;margin:0 auto;padding:1.5rem 1rem 4rem}
h1{font-size:1rem;font-weight:600;color:var(--soft);margin:0}
h2{font-size:1.1rem;margin:2.5rem 0 .5rem}
.verdict{font-size:1.5rem;line-height:1.35;font-weight:600;margin:.4rem 0}
.advice{margin:.2rem 0 0}.soft{color:var(--soft)}
svg{width:100%;max-width:44rem;height:auto;display:block}
svg text{font:12px system-ui,sans-serif;fill:var(--ink)}svg .label{fill:var(--soft)}
svg .name{font-weight:600}svg .paper{fill:none}
.work{fill:var(--work);--key:var(--work)}.wait{fill:var(--wait);--key:var(--wait)}
.blocked{fill:var(--blocked);--key:var(--blocked)}
.key{display:inline-block;width:.8em;height:.8em;margin-left:.4em;background:var(--key)}
.band{fill:var(--line)}.box{fill:var(--fill);stroke:var(--line)}
.hot{fill:var(--fill);stroke:var(--work);stroke-width:2}
.grid{stroke:var(--line);fill:none}.curve{stroke:var(--work);fill:none;stroke-width:1.5}
.cachedphase{fill:var(--shade)}.real{fill:var(--work)}.cached{fill:var(--good)}
.mean{stroke:var(--soft);fill:none;stroke-dasharray:4 3}
.scroll{overflow-x:auto}
table{border-collapse:collapse;width:100%;font-size:.9rem;font-variant-numeric:tabular-nums}
th,td{text-align:right;padding:.3rem .5rem;border-bottom:1px solid var(--line);white-space:nowrap}
th:first-child,td:first-child{text-align:left}th{color:var(--soft);font-weight:500}
"""


class Measured(Protocol):
    """A pipeline or a loader."""

    def stats(self) -> Any: ...


def report(path: str, measured: Measured, *, headspace: Headspace | None = None) -> None:
    """Writes what a pipeline or a loader has measured of itself as one HTML page.

    The page needs no network. It begins with the verdict, that of a headspace run if one is given,
    with its step times; then the flow, stage by stage. A loader adds readiness, waits and memory
    over time, and errors. If the loop that was measured did less with its batches than headspace's
    step, the flow says so and has a verdict of its own.

    >>> import penstock as ps
    >>> from penstock.insight import report
    >>> loader = ps.from_list(range(100)).batch(10).loader()
    >>> for batch in loader:
    ...     pass
    >>> report("report.html", loader)
    """
    if not isinstance(path, str | os.PathLike):
        raise TypeError(f"report: {path!r:.100} is no path; give report(path, loader)")
    write(path, measured, headspace)


def write(
    path: str, measured: Measured, headspace: Headspace | None, verdict: str | None = None
) -> None:
    """`verdict`: of a run at full speed, what has been said of it already."""
    Path(path).write_text(printable(page(measured, headspace, verdict)), encoding="utf-8")


def page(measured: Measured, headspace: Headspace | None = None, verdict: str | None = None) -> str:
    if not callable(getattr(measured, "stats", None)):
        raise TypeError(f"report: give a pipeline or a loader, not {measured!r:.100}")
    if headspace is not None and not isinstance(headspace, Headspace):
        raise TypeError(f"report: headspace is {headspace!r:.100}; give what headspace() returned")
    stats = measured.stats()
    stages: Sequence[StageStats] = stats["stages"] if isinstance(stats, dict) else stats
    if not stages:
        raise ValueError("report: nothing has run yet; read some batches first")
    if headspace is None:
        found = judge(stages)
        sections = [_verdict(found, stages[-1]), _flow(stages, found)]
    else:
        step_times = _section("Step times", _plot.draw(headspace, 440, 190, 10))
        if verdict is not None or _at_full_speed(stages[-1], headspace):
            found = judge(stages)  # two runs, each with its own waits
            first = _both_verdicts(found, stages[-1], headspace, with_reason=False)
            flow = _flow(stages, found, _other_run(found, stages[-1], headspace, verdict))
        else:
            # Headspace knows the waits of steady steps; the statistics count cached ones, too.
            found = judge(stages, min(headspace.wait / headspace.real, 1.0))
            first = _both_verdicts(found, stages[-1], headspace)
            flow = _flow(stages, found)
        sections = [first, step_times, flow]
    history = getattr(measured, "_history", None)
    if history is not None and len(history.points()) > 1:
        sections.append(_section("Readiness: batches at hand", _charts.readiness(history.points())))
        sections.append(_section("Waiting for a batch", _charts.waits(history.points())))
        sections.append(_section("Memory in use", _charts.memory(history.points())))
    errors = measured.errors() if hasattr(measured, "errors") else []
    count = stats["errors"] if isinstance(stats, dict) else len(errors)
    sections.append(_errors(errors, stages, count))
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        f"<title>Penstock report</title><style>{_STYLE}</style></head><body><main>"
        f"<h1>Penstock {escape(penstock.__version__)} report</h1>{''.join(sections)}"
        "</main></body></html>\n"
    )


def _section(title: str, body: str) -> str:
    return f"<section><h2>{escape(title)}</h2>{body}</section>"


def _verdict(found: Bottleneck, sink: StageStats, more: str = "") -> str:
    return (
        f'<section><p class="verdict" id="verdict">{escape(found.reason)}</p>{more}'
        f'<p class="advice">{escape(found.advice)}</p>'
        f'<p class="soft">{escape(_got(sink))}</p></section>'
    )


def _both_verdicts(
    found: Bottleneck, sink: StageStats, headspace: Headspace, with_reason: bool = True
) -> str:
    """Headspace has compared with the real thing: it has the first word, unless that did not
    work."""
    lines = [escape(line) for line in str(headspace).splitlines()]
    if found.kind == "failures":
        return _verdict(found, sink, f'<p id="headspace">{"<br>".join(lines)}</p>')
    parts = [
        f'<p class="verdict" id="verdict">{lines[0]}</p>',
        f'<p id="headspace">{"<br>".join(lines[1:])}</p>',
    ]
    if with_reason:
        parts.append(f"<p>{escape(found.reason)}</p>")
        if found.kind != "consumer":
            parts.append(f'<p class="advice">{escape(found.advice)}</p>')
        parts.append(f'<p class="soft">{escape(_got(sink))}</p>')
    return f"<section>{''.join(parts)}</section>"


def _each(sink: StageStats) -> float:
    """Seconds that the loop took over an item."""
    return (sink.elapsed - sink.waiting - sink.gil_wait) / max(sink.items_out, 1)


def _at_full_speed(sink: StageStats, headspace: Headspace) -> bool:
    return _each(sink) < _FULL_SPEED * (headspace.real - headspace.wait)


def _other_run(
    found: Bottleneck, sink: StageStats, headspace: Headspace, verdict: str | None
) -> str:
    """What the figures of a run at full speed are, and what they say."""
    about = (
        "What follows is of another run, at full speed: its loop took "
        f"{duration(max(_each(sink), 0.0))} over a batch, where the training step takes "
        f"{duration(headspace.real - headspace.wait)}. Its waits are not those of training."
    )
    parts = [f'<p class="soft" id="full-speed">{escape(about)}</p>']
    if found.kind != "failures":  # which has been said at the top
        parts.append(f"<p>{escape(verdict or str(found))}</p>")
        parts.append(f'<p class="soft">{escape(_got(sink))}</p>')
    return "".join(parts)


def _got(sink: StageStats) -> str:
    """What the loop received."""
    words = f"{sink.items_out:,} items in {sink.elapsed:.1f} s"
    if sink.items_out > 0:
        words += f"; {ready(sink)} of the requests found one waiting"
    if sink.failures > 0 and sink.samples > 0:
        words += f"; {sink.failures:,} of {sink.samples:,} samples failed"
    return f"{words}."


def _flow(stages: Sequence[StageStats], found: Bottleneck, about: str = "") -> str:
    head, *rows = cells(stages)
    names = "".join(f"<th>{escape(name)}</th>" for name in head)
    body = "".join(
        "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows
    )
    table = f'<div class="scroll"><table id="stages"><tr>{names}</tr>{body}</table></div>'
    note = (
        '<p class="soft"><i class="key work"></i> at work <i class="key wait"></i> waiting for '
        'input <i class="key blocked"></i> blocked by the next stage. The more of its time a stage '
        "is at work, the stronger its colour; the wider the band between two stages, the more "
        "items pass.</p>"
    )
    return _section("The flow", about + _charts.flow(stages, found.stage) + note + table)


def _errors(errors: Sequence[Any], stages: Sequence[StageStats], count: int) -> str:
    """`count` is of all errors: a loader does not list all of very many."""
    failures = sum(one.failures for one in stages[:-1])
    fatal = stages[-1].failure
    head = f"<p>It failed: {escape(fatal)}</p>" if fatal else ""
    if not errors and not failures:
        return _section("Errors", head or "<p>None.</p>")
    if not errors:
        return _section("Errors", f"{head}<p>{failures:,} tasks failed; the log names them.</p>")
    first: dict[str, Any] = {}
    for error in errors:
        first.setdefault(error.sample, error)
    times = Counter(error.sample for error in errors)
    rows = "".join(
        f"<tr><td>{escape(error.sample)}</td><td>{times[error.sample]:,}</td><td>{error.epoch}</td>"
        f"<td>{error.position:,}</td><td>{escape(error.error)}</td></tr>"
        for error in list(first.values())[:_LISTED]
    )
    more = f"<p>And {len(first) - _LISTED:,} more samples.</p>" if len(first) > _LISTED else ""
    if count > len(errors):
        more += f"<p>Only {len(errors):,} of {count:,} failures are known one by one.</p>"
    names = (
        "<tr><th>sample</th><th>failures</th><th>first in epoch</th><th>position</th>"
        "<th>error</th></tr>"
    )
    table = f'<div class="scroll"><table id="errors">{names}{rows}</table></div>'
    return _section("Errors", head + table + more)
