"""Writes the files in golden/ with TensorFlow itself; run by hand, in an environment that has it.

The tests read them without TensorFlow and compare with what make() says is in them.
"""

import os
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent / "golden"


def samples(count: int = 5) -> list[dict[str, Any]]:
    """What is in the Examples."""
    return [
        {
            "image": bytes(range(i, i + 40)) * 3,
            "label": (-1) ** i * i * 10**12,
            "score": i / 4,
            "box": [i + 0.5, -1.0, 3.25, 1e-20],
            "tokens": list(range(-i, i * 50)),
            "name": f"sample é {i}",
            "parts": [b"", b"a" * i, b"\x00\xff"],
        }
        for i in range(1, count + 1)
    ]


def sequences(count: int = 3) -> list[dict[str, Any]]:
    """What is in the SequenceExamples."""
    return [
        {
            "video": f"clip {i}",
            "frames": [b"frame %d" % k for k in range(i + 1)],
            "pose": [[k + 0.5, -k, 2.0] for k in range(i + 1)],
            "action": [k * 1000 for k in range(i + 1)],
        }
        for i in range(count)
    ]


def main() -> None:
    os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
    import tensorflow as tf

    train = tf.train

    def feature(value: Any) -> Any:
        values = value if isinstance(value, list) else [value]
        if isinstance(values[0], int):
            return train.Feature(int64_list=train.Int64List(value=values))
        if isinstance(values[0], float):
            return train.Feature(float_list=train.FloatList(value=values))
        raw = [one.encode() if isinstance(one, str) else one for one in values]
        return train.Feature(bytes_list=train.BytesList(value=raw))

    def example(sample: dict[str, Any]) -> bytes:
        features = {name: feature(value) for name, value in sample.items()}
        made = train.Example(features=train.Features(feature=features))
        return bytes(made.SerializeToString(deterministic=True))

    def sequence(sample: dict[str, Any]) -> bytes:
        lists = {
            name: train.FeatureList(feature=[feature(step) for step in sample[name]])
            for name in ("frames", "pose", "action")
        }
        made = train.SequenceExample(
            context=train.Features(feature={"video": feature(sample["video"])}),
            feature_lists=train.FeatureLists(feature_list=lists),
        )
        return bytes(made.SerializeToString(deterministic=True))

    HERE.mkdir(exist_ok=True)
    for compression in ("", "GZIP", "ZLIB"):
        path = HERE / f"examples{compression.lower()}.tfrecord"
        with tf.io.TFRecordWriter(str(path), compression) as writer:
            for sample in samples():
                writer.write(example(sample))
    with tf.io.TFRecordWriter(str(HERE / "sequences.tfrecord")) as writer:
        for sample in sequences():
            writer.write(sequence(sample))


if __name__ == "__main__":
    main()
