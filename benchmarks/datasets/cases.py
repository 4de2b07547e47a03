"""What is measured, and by whom."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Contender:
    """Where it is, where its packages are (below the peers' folder), what else there is to say."""

    place: str
    folder: str = ""
    note: str = ""


@dataclass(frozen=True)
class Case:
    """A job, on which shards, how many passes over them, and who takes part; the first is us."""

    title: str
    wanted: str
    shards: str
    passes: int
    contenders: dict[str, Contender]


DALI, CV, SPDL = "dali", "cv", "spdl"

CASES = {
    "raw": Case(
        "Raw samples of 65 KB images and labels, sequential",
        "10 times webdataset, 2 times DALI, not behind SPDL",
        "raw",
        12,
        {
            "penstock loader": Contender("raw.penstock"),
            "penstock loader, mmap": Contender("raw.penstock_mapped", note="bytes untouched"),
            "penstock iter_tar": Contender("raw.iter_tar"),
            "SPDL iter_tarfile": Contender("raw.spdl", SPDL, "over a file, grouped in Python"),
            "DALI": Contender("raw.dali", DALI, "webdataset reader"),
            "tarfile": Contender("raw.tarfile", note="grouped in Python"),
            "webdataset": Contender("raw.webdataset"),
            "webdataset + torch": Contender("raw.webdataset_workers", note="two workers"),
        },
    ),
    "crops": Case(
        "Tar shards to random-resized-crop 224 and flip, uint8 NHWC, batches of 256, and labels",
        "1.5 times the best peer",
        "images",
        1,
        {
            "penstock": Contender("crops.penstock", note="exact=False, antialiased"),
            "penstock exact": Contender("crops.penstock_exact", note="exact=True, antialiased"),
            "webdataset + torch + OpenCV": Contender(
                "crops.webdataset_opencv", CV, "simplejpeg, two workers"
            ),
            "webdataset + torch + Pillow": Contender(
                "crops.webdataset", note="two workers, antialiased"
            ),
            "DALI": Contender("crops.dali", DALI),
            "DALI antialiased": Contender("crops.dali_antialias", DALI, "antialiased"),
        },
    ),
    "small": Case(
        "Raw records of 1 KB, sequential",
        "not behind SPDL",
        "small",
        2,
        {
            "penstock loader": Contender("raw.penstock"),
            "penstock iter_tar": Contender("raw.iter_tar"),
            "SPDL iter_tarfile": Contender("raw.spdl_ungrouped", SPDL, "over a file, no keys"),
            "SPDL iter_tarfile, grouped": Contender("raw.spdl", SPDL, "over a file"),
            "DALI": Contender("raw.dali", DALI, "webdataset reader"),
            "tarfile": Contender("raw.tarfile"),
            "webdataset": Contender("raw.webdataset"),
        },
    ),
    "shuffled": Case(
        "Raw records of 1 KB, shuffled",
        "500,000 samples/s",
        "small",
        2,
        {
            "penstock loader": Contender("raw.penstock_shuffled", note="global"),
            "penstock loader, mmap": Contender(
                "raw.penstock_mapped_shuffled", note="global, bytes untouched"
            ),
            "DALI": Contender("raw.dali_shuffled", DALI, "a buffer of 10,000"),
            "webdataset": Contender("raw.webdataset_shuffled", note="a buffer of 10,000"),
        },
    ),
}
