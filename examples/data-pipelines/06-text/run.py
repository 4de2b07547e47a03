"""Text to tokens, with a tokenizer for each thread; then windows of a token file.

HF tokenizers and tiktoken are used if they are there; neither downloads anything: the vocabularies
are made here. Tokenizers are not made to be shared between threads, or gain nothing by it, so each
thread keeps its own in thread-local storage: callers of Python live as long as their loader.
"""

import sys
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np
import penstock as ps
from samples import Table, options

WORDS = ["the", "a", "of", "water", "wheel", "turns", "light", "pipe", "gate", "river", "stone"]
Encode = Callable[[str], list[int]]


def make_texts(count: int) -> list[dict[str, str]]:
    rng = np.random.default_rng(0)
    return [{"text": " ".join(rng.choice(WORDS, 300))} for _ in range(count)]


def hugging_face(texts: list[dict[str, str]]) -> Callable[[], Encode]:
    from tokenizers import Tokenizer, models, pre_tokenizers, trainers

    made = Tokenizer(models.BPE(unk_token="[UNK]"))
    made.pre_tokenizer = pre_tokenizers.Whitespace()
    trainer = trainers.BpeTrainer(vocab_size=300, special_tokens=["[UNK]"], show_progress=False)
    made.train_from_iterator([one["text"] for one in texts[:50]], trainer)
    saved = made.to_str()

    def make() -> Encode:
        own = Tokenizer.from_str(saved)
        return lambda text: own.encode(text).ids

    return make


def tiktoken_bytes(texts: list[dict[str, str]]) -> Callable[[], Encode]:
    import tiktoken

    # A vocabulary of bytes and of a few words; a real one comes from tiktoken.get_encoding(name).
    ranks = {bytes([i]): i for i in range(256)}
    for word in WORDS:
        for end in range(2, len(word) + 1):
            ranks.setdefault(word[:end].encode(), len(ranks))
            ranks.setdefault(b" " + word[: end - 1].encode(), len(ranks))

    def make() -> Encode:
        encoding = tiktoken.Encoding(
            "words", pat_str=r" ?\w+|\s", mergeable_ranks=ranks, special_tokens={}
        )
        return encoding.encode_ordinary

    return make


def by_words(texts: list[dict[str, str]]) -> Callable[[], Encode]:
    known = {word: i for i, word in enumerate(WORDS)}
    return lambda: lambda text: [known[word] for word in text.split()]


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


def tokenize(texts: list[dict[str, str]], make: Callable[[], Encode], threads: int) -> int:
    work = Tokenize(make)
    plan = ps.from_list(texts).map(work, concurrency=threads).batch(16, collate="ragged")
    count = sum(len(batch["tokens"].values) for batch in plan.loader())
    assert work.made <= 2 * threads  # of the callers, not of the texts
    return count


def main() -> None:
    small = options(__doc__).small
    texts = make_texts(100 if small else 1_500)
    table = Table("tokens", per=1_000_000)
    tokenizers = {"HF tokenizers": hugging_face, "tiktoken": tiktoken_bytes, "split": by_words}
    for name, prepare in tokenizers.items():
        try:
            make = prepare(texts)
        except ImportError:
            print(f"| {name}: not installed | | |")
            continue
        for threads in (1, 2):
            words = f"{name}, {threads} thread" + "s" * (threads > 1)
            table.row(words, lambda make=make, threads=threads: tokenize(texts, make, threads))

    # What has been tokenized once is read as windows of a flat file, without any Python.
    with tempfile.TemporaryDirectory() as folder:
        encode = by_words(texts)()
        flat = np.concatenate([np.asarray(encode(one["text"]), np.uint16) for one in texts])
        path = str(Path(folder) / "tokens.bin")
        flat.tofile(path)
        plan = ps.open(path, format="tokens", dtype="uint16", window=129, stride=128)
        loader = plan.shuffle(seed=0).batch(32).loader()
        table.row("windows of a token file", lambda: sum(b["tokens"].size for b in loader))


if __name__ == "__main__":
    main()
