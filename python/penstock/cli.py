"""The command ``penstock``. A subcommand is one function that adds its parser and its action.

Exit codes: 0 it is done; 1 it could not be done, and standard error says why; 2 the command was not
understood; 130 it was interrupted.
"""

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from typing import Any

import penstock

_Action = Callable[[argparse.Namespace], int]
_EXIT_CODES = "exit codes: 0 done, 1 it could not be done, 2 wrong usage, 130 interrupted"
_REFUSED = (OSError, ValueError, TypeError, NotImplementedError, RuntimeError)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code.

    >>> main(["version"])  # doctest: +SKIP
    penstock 0.1.0
    0
    """
    parser = argparse.ArgumentParser(
        prog="penstock",
        description="A data-loading engine for model training.",
        epilog=f"example: penstock demo. {_EXIT_CODES}",
    )
    commands = parser.add_subparsers(metavar="command", required=True)
    for add in (_add_version, _add_demo, _add_bench, _add_doctor, _add_index):
        add(commands)
    options = parser.parse_args(arguments)
    try:
        code: int = options.action(options)
    except _REFUSED as error:
        print(f"penstock {options.command}: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    return code


def _add(commands: Any, name: str, action: _Action, help: str, example: str) -> Any:
    """The parser of a command; its help ends with an example."""
    parser = commands.add_parser(
        name, help=help, description=f"{help}.", epilog=f"example: {example}. {_EXIT_CODES}"
    )
    parser.set_defaults(action=action, command=name)
    return parser


def _json(parser: Any) -> None:
    parser.add_argument("--json", action="store_true", help="for machines to read")


def _add_version(commands: Any) -> None:
    def action(options: argparse.Namespace) -> int:
        version = penstock.__version__
        print(json.dumps({"version": version}) if options.json else f"penstock {version}")
        return 0

    _json(_add(commands, "version", action, "print the version", "penstock version --json"))


def _add_demo(commands: Any) -> None:
    def action(options: argparse.Namespace) -> int:
        from penstock import demo  # its imports are only paid for by who runs it

        return demo.main(options.source, options.report)

    example = 'penstock demo "train-{000..146}.tar"'
    parser = _add(commands, "demo", action, "show what it does, on this machine", example)
    parser.add_argument("source", nargs="?", help="your own folder of images or shards")
    parser.add_argument("--report", default="penstock-report.html", help="where the page goes")


def _add_bench(commands: Any) -> None:
    def action(options: argparse.Namespace) -> int:
        from penstock import bench

        figures = bench.run(options.source, options.seconds)
        print(json.dumps(bench.as_dict(figures)) if options.json else bench.words(figures))
        return 0

    words = "measure this machine, or a dataset on it, for some seconds"
    parser = _add(commands, "bench", action, words, "penstock bench photos/ --seconds 3")
    parser.add_argument("source", nargs="?", help="your own folder of images or shards")
    parser.add_argument("--seconds", type=float, default=1.0, help="for each figure (1)")
    _json(parser)


def _add_doctor(commands: Any) -> None:
    def action(options: argparse.Namespace) -> int:
        from penstock import doctor

        found = doctor.examine(options.source)
        print(json.dumps(doctor.as_dict(found)) if options.json else doctor.words(found))
        return 0

    words = "what this machine and this build can do; with a dataset, a measurement"
    example = 'penstock doctor "train-{000..146}.tar"'
    parser = _add(commands, "doctor", action, words, example)
    parser.add_argument("source", nargs="?", help="a dataset to measure")
    _json(parser)


def _add_index(commands: Any) -> None:
    def action(options: argparse.Namespace) -> int:
        from penstock import _core

        records = _core.open_records(
            options.source,
            checksums=options.checksums,
            refresh=options.refresh,
            threads=options.threads,
        )
        found = {name: count for name, count in records.findings().items() if count}
        if options.json:
            about = {"samples": len(records), "fields": list(records.fields), "findings": found}
            print(json.dumps(about))
            return 0
        print(f"{len(records)} samples with {', '.join(records.fields)}")
        if found:
            print(", ".join(f"{name}: {count}" for name, count in found.items()))
        return 0

    words = "index tar shards and TFRecord files ahead of time"
    example = 'penstock index --checksums "train-{000..146}.tar"'
    parser = _add(commands, "index", action, words, example)
    parser.add_argument("source", nargs="+", help="shards or patterns: train-{000..146}.tar")
    parser.add_argument(
        "--checksums", action="store_true", help="with a hash of each member: reads are verified"
    )
    parser.add_argument(
        "--refresh", action="store_true", help="make the index anew, whatever is there"
    )
    parser.add_argument("--threads", type=int, default=0, help="shards at a time")
    _json(parser)
