"""The command ``penstock``. A subcommand is one function that adds its parser and its action."""

import argparse
import json
import sys
from collections.abc import Sequence
from typing import Any

import penstock


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code.

    >>> main(["version"])  # doctest: +SKIP
    penstock 0.1.0
    0
    """
    parser = argparse.ArgumentParser(
        prog="penstock", description="A data-loading engine for model training."
    )
    commands = parser.add_subparsers(metavar="command", required=True)
    for add in (_add_version, _add_demo, _add_doctor, _add_index):
        add(commands)
    options = parser.parse_args(arguments)
    code: int = options.action(options)
    return code


def _add_version(commands: Any) -> None:
    def action(options: argparse.Namespace) -> int:
        version = penstock.__version__
        print(json.dumps({"version": version}) if options.json else f"penstock {version}")
        return 0

    parser = commands.add_parser("version", help="print the version")
    parser.add_argument("--json", action="store_true", help="for machines to read")
    parser.set_defaults(action=action)


def _add_demo(commands: Any) -> None:
    def action(options: argparse.Namespace) -> int:
        from penstock import demo  # its imports are only paid for by who runs it

        return demo.main(options.source, options.report)

    parser = commands.add_parser(
        "demo",
        help="show what it does, on this machine",
        epilog='example: penstock demo "train-{000..146}.tar"',
    )
    parser.add_argument("source", nargs="?", help="your own folder of images or shards")
    parser.add_argument("--report", default="penstock-report.html", help="where the page goes")
    parser.set_defaults(action=action)


def _add_doctor(commands: Any) -> None:
    def action(options: argparse.Namespace) -> int:
        from penstock import doctor

        try:
            found = doctor.examine(options.source)
        except (OSError, ValueError, NotImplementedError) as error:
            print(f"penstock doctor: {error}", file=sys.stderr)
            return 1
        print(json.dumps(doctor.as_dict(found)) if options.json else doctor.words(found))
        return 0

    parser = commands.add_parser(
        "doctor",
        help="what this machine and this build can do; with a dataset, a measurement",
        epilog='example: penstock doctor "train-{000..146}.tar"',
    )
    parser.add_argument("source", nargs="?", help="a dataset to measure")
    parser.add_argument("--json", action="store_true", help="for machines to read")
    parser.set_defaults(action=action)


def _add_index(commands: Any) -> None:
    def action(options: argparse.Namespace) -> int:
        from penstock import _core

        try:
            records = _core.open_records(
                options.source,
                checksums=options.checksums,
                refresh=options.refresh,
                threads=options.threads,
            )
        except (OSError, ValueError, NotImplementedError) as error:
            print(f"penstock index: {error}", file=sys.stderr)
            return 1
        print(f"{len(records)} samples with {', '.join(records.fields)}")
        found = {name: count for name, count in records.findings().items() if count}
        if found:
            print(", ".join(f"{name}: {count}" for name, count in found.items()))
        return 0

    parser = commands.add_parser("index", help="index tar shards and TFRecord files ahead of time")
    parser.add_argument("source", nargs="+", help="shards or patterns: train-{000..146}.tar")
    parser.add_argument(
        "--checksums", action="store_true", help="with a hash of each member: reads are verified"
    )
    parser.add_argument(
        "--refresh", action="store_true", help="make the index anew, whatever is there"
    )
    parser.add_argument("--threads", type=int, default=0, help="shards at a time")
    parser.set_defaults(action=action)
