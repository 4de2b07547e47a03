"""Text to tokens, with a tokenizer for each thread; then windows of a token file.

HF tokenizers and tiktoken are used if they are there. Tokenizers are not made to be shared between
threads, or gain nothing by it, so each thread keeps its own in thread-local storage: callers of
Python live as long as their loader.
"""

import multiprocessing
import os
import sys
import tempfile
import threading
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np
import penstock as ps
from encoders import (
    Encode,
    Texts,
    by_words,
    hf_vocabulary,
    hugging_face,
    make_texts,
    tiktoken_bytes,
)
from samples import Table, options


class Tokenize:
    """fn(sample) for map: each thread makes its tokenizer once."""

    def __init__(self, make: Callable[[], Encode]) -> None:
        self._make = make
        self._own = threading.local()
        self.made = 0

    def __call__(self, sample: dict[str, str]) -> dict[str, np.ndarray]:
        if not hasattr(self._own, "encode"):
            self._own.encode = self._make()
            self.made += 1
        return {"tokens": np.asarray(self._own.encode(sample["text"]), np.int32)}


def tokens_of(plan: ps.Dataset) -> int:
    loader = plan.batch(16, collate="ragged").loader()
    return sum(len(batch["tokens"].values) for batch in loader)


def on_threads(texts: Texts, make: Callable[[], Encode], threads: int) -> int:
    work = Tokenize(make)
    count = tokens_of(ps.from_list(texts).map(work, concurrency=threads))
    assert work.made <= 2 * threads  # of the callers, not of the texts
    return count


IN_PROCESS: dict[str, Tokenize] = {}


def start_process(make: Callable[[], Encode]) -> None:
    os.environ["TOKENIZERS_PARALLELISM"] = "false"  # the parent's threads are not in a fork
    IN_PROCESS["work"] = Tokenize(make)


def in_process(sample: dict[str, str]) -> dict[str, np.ndarray]:
    return IN_PROCESS["work"](sample)


def in_processes(texts: Texts, make: Callable[[], Encode], processes: int = 2) -> int:
    """A pool of processes, each with its tokenizer: texts go there and tokens come back."""
    fork = multiprocessing.get_context("fork")
    with ProcessPoolExecutor(processes, fork, start_process, (make,)) as pool:
        plan = ps.from_list(texts).map(in_process, concurrency=2 * processes, executor=pool)
        return tokens_of(plan)


def in_batches(texts: Texts, saved: str) -> int:
    """HF tokenizers take a list, let go of the GIL and use threads of their own."""
    from tokenizers import Tokenizer

    own = Tokenizer.from_str(saved)
    plan = ps.from_list(texts).batch(16, collate="list")
    found = plan.map(lambda batch: [one.ids for one in own.encode_batch(batch["text"])]).loader()
    return sum(len(tokens) for batch in found for tokens in batch)


def variants(name: str, texts: Texts, make: Callable[[], Encode]) -> dict[str, Callable[[], int]]:
    return {
        f"{name}, 1 thread": partial(on_threads, texts, make, 1),
        f"{name}, 2 threads": partial(on_threads, texts, make, 2),
        f"{name}, 2 processes": partial(in_processes, texts, make),
    }


def main() -> None:
    small = options(__doc__).small
    repeat = 1 if small else 3
    short = make_texts(100 if small else 3_000, 300)
    long = make_texts(2 if small else 60, 15_000)
    table = Table("tokens", per=1_000_000)
    tokenizers = {"HF tokenizers": hugging_face, "tiktoken": tiktoken_bytes, "split": by_words}
    for name, prepare in tokenizers.items():
        try:
            make = prepare(short)
        except ImportError:
            print(f"| {name}: not installed | | |")
            continue
        works = variants(name, short, make) | variants(f"{name}, long texts", long, make)
        if name == "HF tokenizers":
            works[f"{name}, lists of 16"] = partial(in_batches, short, hf_vocabulary(short))
        table.rows(works, repeat)

    # What has been tokenized once is read as windows of a flat file, without any Python.
    with tempfile.TemporaryDirectory() as folder:
        encode = by_words(short)()
        flat = np.concatenate([np.asarray(encode(one["text"]), np.uint16) for one in short])
        path = str(Path(folder) / "tokens.bin")
        flat.tofile(path)
        plan = ps.open(path, format="tokens", dtype="uint16", window=129, stride=128)
        loader = plan.shuffle(seed=0).batch(32).loader()
        table.row("windows of a token file", lambda: sum(b["tokens"].size for b in loader), repeat)


if __name__ == "__main__":
    main()
