"""The command ``penstock``. A subcommand is one function that adds its parser and its action.

Exit codes: 0 it is done; 1 it could not be done, or its output could not be written, and standard
error says why; 2 the command was not understood; 130 it was interrupted; 141 nobody reads its
output any more, as with other programs in a pipe (128 + SIGPIPE).
"""

import argparse
import contextlib
import json
import math
import os
import re
import shutil
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import Any

import penstock
from penstock._printable import all_printable, printable
from penstock.data._sizes import parse_bytes

_Action = Callable[[argparse.Namespace], int]
_EXIT_CODES = (
    "exit codes: 0 done, 1 it could not be done, 2 wrong usage, 130 interrupted, 141 closed pipe"
)
_REFUSED = (
    *(OSError, ValueError, TypeError, KeyError, NotImplementedError, RuntimeError, MemoryError),
    *(IndexError, ImportError),  # some of them
)


class _Parser(argparse.ArgumentParser):
    """Help that cannot be written is an error as any other."""

    def _print_message(self, message: str, file: Any = None) -> None:
        if message and file is sys.stdout:
            file.write(message)
        else:
            super()._print_message(message, file)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code.

    >>> main(["version"])  # doctest: +SKIP
    penstock 0.1.0
    0
    """
    if sys.stdout is None:
        _complain("penstock: standard output is closed")
        return 1
    code: int | None = None
    try:
        try:
            code = _run(arguments)
        finally:
            sys.stdout.flush()  # here, where it can be told that this is not possible
    except BrokenPipeError:
        _let_go()
        return 141
    except OSError as error:
        _let_go()
        if code != 1:  # nothing was said yet
            _complain(f"penstock: standard output cannot be written: {error.strerror}")
        return 1
    return code


def _complain(words: str) -> None:
    if sys.stderr is not None:
        with contextlib.suppress(OSError):
            print(printable(words), file=sys.stderr, flush=True)


def _print(words: str) -> None:
    print(printable(words))


def _print_json(about: Any) -> None:
    print(json.dumps(all_printable(about)))


def _let_go() -> None:
    """What could not be written goes nowhere, also when the interpreter tries again at its end."""
    with contextlib.suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)


def _run(arguments: Sequence[str] | None) -> int:
    parser = _Parser(
        prog="penstock",
        description="A data-loading engine for model training.",
        epilog=f"example: penstock demo\n{_EXIT_CODES}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"penstock {penstock.__version__}")
    commands = parser.add_subparsers(metavar="command", required=True)
    for add in (_add_version, _add_demo, _add_bench, _add_doctor):
        add(commands)
    for add in (_add_inspect, _add_index, _add_convert):
        add(commands)
    options = parser.parse_args(arguments)
    try:
        _check_names(getattr(options, "source", None))
        code: int = options.action(options)
    except BrokenPipeError:
        raise
    except _REFUSED as error:
        if _is_slip(error):
            raise
        # A KeyError shows its words in quotes.
        words = str(error.args[0] if isinstance(error, KeyError) and error.args else error)
        # The words are those of Python: of the commands one has that option.
        give = (
            "--format" if hasattr(options, "format") else "it another ending, or in Python format="
        )
        words = words.replace("give format=, one of", f"give {give}, one of")
        words = words.replace("give a larger max_member", "in Python give a larger max_member")
        words = "; ".join([words or type(error).__name__, *getattr(error, "__notes__", [])])
        _complain(f"penstock {options.command}: {words}")
        return 1
    except KeyboardInterrupt:
        return 130
    return code


def _check_names(source: str | list[str] | None) -> None:
    """Files in a folder may have any name, but what is opened is named by text."""
    for name in [source] if isinstance(source, str) else source or ():
        if printable(name) != name:
            raise ValueError(
                f"the name '{printable(name)}' is not UTF-8, and cannot be opened: rename it, or "
                "give the folder it is in"
            )


def _is_slip(error: BaseException) -> bool:
    """Is it one of ours, in this program? What is too large or not installed is none."""
    if isinstance(error, IndexError):
        return not str(error).startswith("out of range: ")  # as the core begins its words
    return isinstance(error, ImportError) and (error.name or "").split(".")[0] == "penstock"


def _add(commands: Any, name: str, action: _Action, help: str, example: str) -> Any:
    """The parser of a command; its help ends with an example."""
    parser = commands.add_parser(
        name,
        help=help,
        description=f"{help}.",
        epilog=f"example: {example}\n{_EXIT_CODES}",
        formatter_class=argparse.RawDescriptionHelpFormatter,  # an example is there to be copied
    )
    parser.set_defaults(action=action, command=name)
    return parser


def _whole(least: int) -> Callable[[str], int]:
    """The type of an option that is a whole number, not too small."""

    def number(text: str) -> int:
        if not text.isdecimal() or int(text) < least:
            raise argparse.ArgumentTypeError(f"{text!r}; give a whole number from {least} up")
        return int(text)

    return number


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = math.nan
    if not 0 < seconds < math.inf:
        raise argparse.ArgumentTypeError(f"{text!r}; give a number above 0")
    return seconds


def _size(text: str) -> tuple[int, int]:
    height, _, width = text.partition("x")
    width = width or height
    if not (height.isdecimal() and width.isdecimal() and int(height) > 0 < int(width)):
        raise argparse.ArgumentTypeError(f"{text!r}; give height and width: 224x224")
    return int(height), int(width)


def _shard_size(text: str) -> str:
    try:
        parse_bytes(text, "it")
    except ValueError:
        raise argparse.ArgumentTypeError(
            f'{text!r}; give a number of samples, or bytes: "256MB"'
        ) from None
    return text


def _fields(text: str) -> list[str] | dict[str, str]:
    """Names, or names with types: "image,label", "ids=int64[],box=float[2,2]"."""
    found = [one.partition("=") for one in re.split(r",(?![^\[]*\])", text)]
    typed = [bool(sign) for _, sign, _ in found]
    if not all(name for name, _, _ in found) or any(typed) != all(typed):
        raise argparse.ArgumentTypeError(
            f'{text!r}; give names, "image,label", or a type for each: "image=bytes,ids=int64[]"'
        )
    return {name: kind for name, _, kind in found} if all(typed) else [name for name, *_ in found]


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
        _print_json(bench.as_dict(figures)) if options.json else _print(bench.words(figures))
        return 0

    words = "measure this machine, or a dataset on it, for some seconds"
    parser = _add(commands, "bench", action, words, "penstock bench photos/ --seconds 3")
    parser.add_argument("source", nargs="?", help="your own folder of images or shards")
    parser.add_argument("--seconds", type=_seconds, default=1.0, help="for each figure (1)")
    _json(parser)


def _add_doctor(commands: Any) -> None:
    def action(options: argparse.Namespace) -> int:
        from penstock import doctor

        found = doctor.examine(options.source)
        _print_json(doctor.as_dict(found)) if options.json else _print(doctor.words(found))
        return 1 if found.measured is not None and found.measured["rate"] == 0 else 0

    words = "what this machine and this build can do; with a dataset, a measurement"
    example = 'penstock doctor "train-{000..146}.tar"'
    parser = _add(commands, "doctor", action, words, example)
    parser.add_argument("source", nargs="?", help="a dataset to measure")
    _json(parser)


def _add_inspect(commands: Any) -> None:
    def action(options: argparse.Namespace) -> int:
        from penstock import inspection

        found = inspection.inspect(options.source, options.format, options.samples)
        if options.json:
            _print_json(inspection.as_dict(found))
        else:
            width = shutil.get_terminal_size().columns
            _print(inspection.words(found, colours=sys.stdout.isatty(), width=width))
        damaged = [one for one in found.unread if not one.null]
        for one in damaged[:1]:
            _complain(f"penstock inspect: sample {one.sample} cannot be read: {one.why}")
        return 1 if damaged else 0

    words = "what is inside a dataset: fields, shapes, types, counts, sizes"
    example = "penstock inspect train.parquet --samples 3"
    parser = _add(commands, "inspect", action, words, example)
    parser.add_argument("source", nargs="+", help="what penstock.open takes")
    parser.add_argument("--format", help="if the name does not say")
    parser.add_argument(
        "--samples", type=_whole(0), default=0, help="show so many of the first ones"
    )
    _json(parser)


def _add_convert(commands: Any) -> None:
    def action(options: argparse.Namespace) -> int:
        from penstock.convert import convert

        done = convert(
            options.source,
            options.destination,
            to=options.to,
            format=options.format,
            fields=options.fields,
            window=options.window,
            stride=options.stride,
            dtype=options.dtype,
            shard_size=options.shard_size,
            shuffle=options.shuffle,
            image_size=options.image_size,
            renumber=options.renumber,
            threads=options.threads,
            on_error=options.on_error,
            verify=options.verify,
            overwrite=options.overwrite,
            progress=not options.json,
        )
        if options.json:
            _print_json(asdict(done))
            return 0
        first = done.files[0] + (f" and {len(done.files) - 1} more" if done.files[1:] else "")
        _print(f"{done.samples} samples in {first}" + (", verified" if done.verified else ""))
        if done.resumed:
            print(f"{done.resumed} of {done.parts} parts were there from before")
        if done.skipped:
            print(f"{done.skipped} samples could not be read and were left out")
        return 0

    words = "write a dataset in another format; the same command goes on after an interruption"
    example = "penstock convert photos/ train.tar --shard-size 256MB --shuffle 7 --verify"
    parser = _add(commands, "convert", action, words, example)
    parser.add_argument("source", nargs="+", help="what penstock.open takes")
    parser.add_argument(
        "destination", help="ends in .tar, .tfrecord, .parquet, .npy, .zarr or / (an image folder)"
    )
    parser.add_argument("--to", help="the format, if the ending does not say")
    parser.add_argument("--format", help="of the source, if its name does not say")
    parser.add_argument(
        "--fields", type=_fields, help='these only: "image,label"; with types: "ids=int64[]"'
    )
    parser.add_argument("--window", type=_whole(1), help="rows or tokens in a sample")
    parser.add_argument("--stride", type=_whole(1), help="from one window to the next")
    parser.add_argument("--dtype", help="of tokens: uint16, uint32 or int32")
    parser.add_argument(
        "--shard-size", type=_shard_size, help='samples in a shard, or about so many bytes: "256MB"'
    )
    parser.add_argument("--shuffle", type=int, metavar="SEED", help="in a shuffled order")
    parser.add_argument("--image-size", type=_size, metavar="HxW", help="decode images, for arrays")
    parser.add_argument("--renumber", action="store_true", help="labels of a folder may have gaps")
    parser.add_argument("--threads", type=_whole(1), help="parts at a time")
    parser.add_argument("--on-error", choices=["raise", "skip"], default="raise")
    parser.add_argument("--verify", action="store_true", help="read it back and compare")
    parser.add_argument("--overwrite", action="store_true", help="what is there")
    _json(parser)


def _add_index(commands: Any) -> None:
    def action(options: argparse.Namespace) -> int:
        from penstock import _core
        from penstock.data._files import format_of

        format = format_of(tuple(options.source))
        if format not in ("tar", "tfrecord"):  # its own structure is its index
            ds = penstock.open(options.source)
            if options.checksums:
                raise ValueError(
                    f"{format} needs no index: there is nothing to index, and no place for "
                    "checksums; tar shards and TFRecord files have both"
                )
            about = {"samples": len(ds), "fields": ds.fields, "findings": {}}
            words = f"{len(ds)} samples; {format} needs no index"
            _print_json(about) if options.json else _print(words)
            return 0
        records = _core.open_records(
            options.source,
            checksums=options.checksums,
            refresh=options.refresh,
            threads=options.threads,
        )
        found = {name: count for name, count in records.findings().items() if count}
        if options.json:
            about = {"samples": len(records), "fields": list(records.fields), "findings": found}
            _print_json(about)
            return 0
        _print(f"{len(records)} samples with {', '.join(records.fields)}")
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
    parser.add_argument("--threads", type=_whole(0), default=0, help="shards at a time")
    _json(parser)
