"""Texts, and what makes tokenizers for them: HF tokenizers, tiktoken, a split at spaces.

Each of the three gives a function that makes a tokenizer of its own for whoever calls it. Nothing
is downloaded: the vocabularies are made here.
"""

from collections.abc import Callable

import numpy as np

WORDS = ["the", "a", "of", "water", "wheel", "turns", "light", "pipe", "gate", "river", "stone"]
Encode = Callable[[str], list[int]]
Texts = list[dict[str, str]]


def make_texts(count: int, words: int) -> Texts:
    rng = np.random.default_rng(0)
    return [{"text": " ".join(rng.choice(WORDS, words))} for _ in range(count)]


def hf_vocabulary(texts: Texts) -> str:
    from tokenizers import Tokenizer, models, pre_tokenizers, trainers

    made = Tokenizer(models.BPE(unk_token="[UNK]"))
    made.pre_tokenizer = pre_tokenizers.Whitespace()
    trainer = trainers.BpeTrainer(vocab_size=300, special_tokens=["[UNK]"], show_progress=False)
    made.train_from_iterator([one["text"] for one in texts[:50]], trainer)
    return made.to_str()


def hugging_face(texts: Texts) -> Callable[[], Encode]:
    from tokenizers import Tokenizer

    saved = hf_vocabulary(texts)

    def make() -> Encode:
        own = Tokenizer.from_str(saved)
        return lambda text: own.encode(text).ids

    return make


def tiktoken_bytes(texts: Texts) -> Callable[[], Encode]:
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


def by_words(texts: Texts) -> Callable[[], Encode]:
    known = {word: i for i, word in enumerate(WORDS)}
    return lambda: lambda text: [known[word] for word in text.split()]
