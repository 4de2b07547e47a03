"""The native part of Penstock."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any


def version() -> str:
    """The version of Penstock."""

def build_info() -> dict[str, str | bool]:
    """How this module was built: compiler, assertions."""

class BufferPool:
    """Recycled memory under a byte budget."""

    def __init__(self, budget: int | None = None) -> None:
        """`budget` in bytes; None: unlimited."""

    @property
    def budget(self) -> int | None:
        """Bytes; None: unlimited."""

    def stats(self) -> dict[str, int | None]:
        """
        What is in use, reserved, cached, held by the user, and how often memory was reused.
        """

    def trim(self) -> None:
        """Gives cached memory back to the system."""

class Tensor:
    """
    An array of one element type in memory that Penstock owns.

    `numpy.asarray(t)`, `torch.from_dlpack(t)` and `jax.numpy.from_dlpack(t)` share its memory and keep it alive.
    """

    @staticmethod
    def empty(shape: Sequence[int], dtype: str = 'uint8', pool: BufferPool | None = None) -> Tensor:
        """Uninitialised memory, from `pool` if there is one."""

    @property
    def shape(self) -> tuple[int, ...]:
        """The extents."""

    @property
    def strides(self) -> tuple[int, ...]:
        """Steps between neighbours, in elements."""

    @property
    def dtype(self) -> str:
        """The name of the element type."""

    @property
    def ndim(self) -> int:
        """The number of dimensions."""

    @property
    def size(self) -> int:
        """The number of elements."""

    @property
    def nbytes(self) -> int:
        """The bytes of all elements."""

    @property
    def contiguous(self) -> bool:
        """Do the elements lie side by side?"""

    def row(self, i: int) -> Tensor:
        """The i-th part along the first dimension: a view."""

    def slice(self, dimension: int, start: int, stop: int, step: int = 1) -> Tensor:
        """
        Elements start, start + step, ... before stop of one dimension: a view.
        """

    def reshape(self, shape: Sequence[int]) -> Tensor:
        """The same elements under another shape: a view."""

    def __len__(self) -> int: ...

    def __repr__(self) -> str: ...

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        """The NumPy array on the same memory."""

    def __dlpack__(self, *, stream: Any = None, max_version: tuple[int, int] | None = None, dl_device: tuple[int, int] | None = None, copy: bool | None = None) -> Any:
        """A DLPack capsule that shares the memory."""

    def __dlpack_device__(self) -> tuple[int, int]:
        """The CPU."""

class Permutation:
    """
    A keyed shuffle of range(n) by arithmetic, in constant memory.

    The order for given arguments never changes between versions.
    """

    def __init__(self, n: int, seed: int = 0, epoch: int = 0, stream: int = 0) -> None: ...

    @property
    def n(self) -> int:
        """How many numbers there are."""

    def __len__(self) -> int: ...

    def __getitem__(self, position: int) -> int:
        """The number at a position of the shuffled order."""

    def index(self, value: int) -> int:
        """The position at which a number comes."""

    def fill(self, start: int, count: int, stride: int = 1, pool: BufferPool | None = None) -> Tensor:
        """
        The numbers at positions start, start + stride, ...: a Tensor of uint64.
        """

    def __repr__(self) -> str: ...

class RandomStream:
    """
    The random numbers of one operation on one row: Philox4x32-10.

    They depend on the arguments only, and never change between versions.
    """

    def __init__(self, seed: int, epoch: int = 0, position: int = 0, operation: int = 0) -> None: ...

    def bits32(self) -> int:
        """32 uniform bits."""

    def bits64(self) -> int:
        """64 uniform bits."""

    def uniform(self, a: float = 0.0, b: float = 1.0) -> float:
        """A number in [a, b)."""

    def below(self, n: int) -> int:
        """An integer in [0, n)."""

    def normal(self) -> float:
        """Mean 0, standard deviation 1."""

    def bernoulli(self, p: float) -> bool:
        """True with probability p."""

class NativeOp:
    """A function that pipelines run without the GIL."""

    @property
    def name(self) -> str: ...

    @property
    def takes_tensors(self) -> bool: ...

    @property
    def random(self) -> bool: ...

    @property
    def on_rows(self) -> bool: ...

    def __call__(self, item: Any, *, position: int | None = None, out: Any = None) -> Any:
        """The same for one item, here and now, without the GIL."""

class TaskLane:
    """Where an event loop claims and completes tasks."""

    def fileno(self) -> int: ...

    def set_idle(self, idle: bool) -> None: ...

    def acknowledge(self) -> None: ...

    def flush(self) -> None: ...

    def when_due(self, arrange: Callable[[], object] | None) -> None: ...

    def fail(self, exception: BaseException) -> None: ...

class CallerLane:
    """The threads of a pipeline that call Python."""

    def submit(self, call: object, stage: str, item: object | None) -> None: ...

class LoopSlot:
    """A coroutine's place on a TaskLane: one task at a time."""

    def __init__(self, lane: TaskLane, nothing: object, epoch_end: object, end: object) -> None: ...

    def claim(self) -> Any: ...

    @property
    def resumed(self) -> bool: ...

    def finish(self, result: object) -> Any: ...

    def finish_on(self, result: object, path: int) -> Any: ...

    def pass_on(self, result: object) -> Any: ...

    def fail(self, exception: BaseException, input: object, fatal: bool, silent: bool = False) -> Any: ...

    def again(self, output: object, kept: object) -> Any: ...

    def end_epoch(self) -> Any: ...

    def end_source(self) -> None: ...

    def abandon(self) -> None: ...

class ItemIterator:
    """Iterates over the items of a pipeline."""

    def __iter__(self) -> ItemIterator: ...

    def __next__(self) -> object: ...

class Engine:
    """A pipeline of native stages."""

    def start(self) -> None: ...

    def request_stop(self) -> None: ...

    def stop(self, timeout: float) -> str | None: ...

    def take(self, timeout: float) -> tuple[int, Any]: ...

    def items(self, timeout: float, ended: object) -> ItemIterator: ...

    def stats(self) -> list[dict[str, Any]]: ...

    def fatal_failures(self) -> list[tuple[Any, ...]]: ...

class EngineBuilder:
    """Collects the stages of a pipeline."""

    def __init__(self, threads: int, sources: int) -> None: ...

    def source(self, name: str, iterable: object, continuous: bool) -> None: ...

    def call(self, name: str, op: object, concurrency: int, ordered: bool, limit: tuple[int, int] | None, fatal: bool = False) -> None: ...

    def generate(self, name: str, op: object, concurrency: int, ordered: bool, limit: tuple[int, int] | None) -> None: ...

    def native(self, name: str, op: NativeOp, concurrency: int, ordered: bool, limit: tuple[int, int] | None) -> None: ...

    def collect(self, name: str, n: int, drop_last: bool) -> None: ...

    def aggregate(self, name: str, aggregator: object, drop_last: bool) -> None: ...

    def disaggregate(self, name: str) -> None: ...

    def route(self, name: str, router: object, paths: int) -> int: ...

    def loop(self, name: str, kind: str, concurrency: int, ordered: bool, limit: tuple[int, int] | None, sees_ends: bool = False, paths: int = 1) -> TaskLane: ...

    def callers(self) -> CallerLane: ...

    def last(self) -> int: ...

    def from_outputs(self, outputs: Sequence[tuple[int, int]]) -> None: ...

    def sink(self, buffer_size: int) -> None: ...

    def build(self, limit: tuple[int, int] | None, report: object) -> Engine: ...

def as_tensor(array: Any) -> Tensor:
    """A Tensor on the memory of an array: nothing is copied."""

def resize_op(size: tuple[int, int] | None, short_side: int, interpolation: str, box: tuple[float, float, float, float] | None) -> NativeOp: ...

def crop_op(box: tuple[int, int, int, int]) -> NativeOp: ...

def center_crop_op(size: tuple[int, int]) -> NativeOp: ...

def pad_op(sides: tuple[int, int, int, int], mode: str, fill: Sequence[int]) -> NativeOp: ...

def flip_op(direction: str) -> NativeOp: ...

def rotate90_op(turns: int) -> NativeOp: ...

def convert_op(mode: str, source: str | None) -> NativeOp: ...

def grayscale_op() -> NativeOp: ...

def brightness_op(factor: float) -> NativeOp: ...

def contrast_op(factor: float) -> NativeOp: ...

def saturation_op(factor: float) -> NativeOp: ...

def normalize_op(mean: Sequence[float], std: Sequence[float], dtype: str, layout: str) -> NativeOp: ...

def random_resized_crop_op(size: tuple[int, int], scale: tuple[float, float], ratio: tuple[float, float], interpolation: str, seed: int, epoch: int) -> NativeOp: ...

def random_crop_op(size: tuple[int, int], seed: int, epoch: int) -> NativeOp: ...

def random_flip_op(probability: float, direction: str, seed: int, epoch: int) -> NativeOp: ...

def color_jitter_op(brightness: float, contrast: float, saturation: float, seed: int, epoch: int) -> NativeOp: ...

def stft_op(n_fft: int, hop: int, window_length: int, window: str, centre: bool, pad: str, output: str) -> NativeOp: ...

def mel_spectrogram_op(n_fft: int, hop: int, window_length: int, window: str, centre: bool, pad: str, value: str, sample_rate: float, mels: int, low: float, high: float, htk: bool, slaney: bool, decibels: bool, reference: float, least: float, range: float | None) -> NativeOp: ...

def fix_length_op(samples: int, place: str, fill: float, seed: int, epoch: int) -> NativeOp: ...

def gain_op(decibels: float) -> NativeOp: ...

class ImageRequest:
    """What to make of an image; see penstock.io."""

    def __init__(self, *, mode: str, strict: bool, orientation: bool, max_pixels: int, size: tuple[int, int] | None, box: tuple[int, int, int, int] | None, crop: str, resize_short: int | None, interpolation: str, flip: float, exact: bool, min_left: float, scale: tuple[float, float], ratio: tuple[float, float], seed: int, epoch: int) -> None: ...

def image_info(data: Any) -> dict[str, Any]:
    """What an image's header says."""

def decode_image(data: Any, request: ImageRequest, position: int | None, out: Any) -> Any:
    """One image; see penstock.io.decode_image."""

def decode_image_fields(names: Sequence[str], files: Sequence[object], request: ImageRequest, mask_mode: str, position: int | None) -> tuple[list[Tensor], tuple[float, float, float, float, bool]]:
    """Images that share a crop; see penstock.io.decode_image_fields."""

def decode_image_op(request: ImageRequest) -> NativeOp:
    """A native op; see penstock.ops.decode_image."""

def decode_image_batch(files: Sequence[object], request: ImageRequest, boxes: Sequence[tuple[int, int, int, int]] | None, flips: Sequence[float] | None, position: int | None, layout: str, dtype: str, mean: Sequence[float], std: Sequence[float], threads: int, out: Any) -> tuple[Any, list[Exception | None]]:
    """Many images; see penstock.io.decode_image_batch."""

def encode_image(array: Any, format: str, quality: int, subsampling: str, progressive: bool, level: int, lossless: bool) -> bytes:
    """An image file; see penstock.io.encode_image."""

def ffmpeg() -> tuple[str | None, str | None]:
    """The version of FFmpeg that is used, or why there is none."""

def flac() -> str | None:
    """The version of libFLAC; None: FFmpeg reads FLAC files."""

class Clip:
    """A video; see penstock.io.Video."""

    def __init__(self, source: Any, stream: int, threads: int, max_pixels: int, keep_index: str) -> None: ...

    def __len__(self) -> int: ...

    @property
    def times(self) -> list[float]:
        """Of the frames, in seconds from the first one."""

    @property
    def damage(self) -> str:
        """Of the container, in words; empty: none was found."""

    def frames_at(self, times: Sequence[float]) -> list[int]:
        """The frames that are shown at these times."""

    def info(self) -> dict[str, Any]: ...

    def read(self, numbers: Sequence[int], request: ImageRequest, position: int | None, partial: bool) -> tuple[Any, list[int], list[int], Exception | None]:
        """
        Pixels, the numbers of the frames, those of damaged ones, and what failed.
        """

class ClipIterator:
    """Frames from front to back."""

    def __init__(self, clip: Clip, source: Any, stream: int, threads: int, max_pixels: int, request: ImageRequest, position: int | None, partial: bool) -> None: ...

    def __iter__(self) -> ClipIterator: ...

    def __next__(self) -> Any: ...

class AudioOptions:
    """What of a sound, and how; see penstock.io.load_audio."""

    def __init__(self, *, start: float, duration: float | None, sample_rate: int, channels: int, select: Sequence[int], dtype: str, channels_first: bool, stream: int, strict: bool, partial: bool, exact: bool) -> None: ...

def audio_info(source: Any, stream: int) -> dict[str, Any]:
    """What an audio file's header says."""

def load_audio(source: Any, options: AudioOptions) -> tuple[Any, int, float, int, Exception | None]:
    """
    Samples, their rate, where they begin, damages, and what ended them early.
    """

def save_audio(path: str | None, samples: Any, sample_rate: int, format: str, coding: str, channels_first: bool) -> bytes | None:
    """A sound as a file, or as the bytes of one."""

class Records:
    """Records of files, by number."""

    def __len__(self) -> int: ...

    def read(self, index: int) -> dict[str, object]:
        """
        A record: bytes as memoryviews that share memory, text as str, labels as int.
        """

    def read_many(self, indices: list[int]) -> list[dict[str, object]]:
        """Several records; neighbours in a file are read together."""

    def read_bytes(self, indices: list[int], field: str) -> list[bytes]:
        """One field of several records."""

    def name(self, index: int) -> str:
        """The file and the key in it."""

    @property
    def fields(self) -> list[str]:
        """The names of all fields."""

    @property
    def mean_bytes(self) -> int:
        """The mean size of a record."""

    @property
    def digest(self) -> int:
        """Of counts and names relative to the root."""

    def findings(self) -> dict[str, int]:
        """What was passed over, damaged or missing."""

def open_records(names: list[str], format: str = '', fields: list[str] = [], checksums: bool = False, refresh: bool = False, write_index: bool = True, max_member: int = 1073741824, threads: int = 0, verify: bool = True, mmap: bool = False) -> Records:
    """Opens files, and indexes what needs it."""

def expand(names: Sequence[str]) -> list[str]:
    """Names with their patterns expanded."""

def format_of(names: Sequence[str]) -> str:
    """The format that all of these have: "tar" and the like."""

def why_no_hdf5() -> str | None:
    """Why HDF5 files cannot be opened; None: they can."""

class TarIterator:
    """Samples of tars, from front to back."""

    def __iter__(self) -> TarIterator: ...

    def __next__(self) -> dict[str, Any]: ...

    def findings(self) -> dict[str, int]:
        """What was passed over, damaged or missing so far."""

def iter_tar(source: Any, fields: list[str], max_member: int, errors: list[str] | None) -> TarIterator:
    """See penstock.io.iter_tar."""

class ByteSource:
    """A file or a URL: bytes at any offset, of the version that was opened."""

    def __init__(self, name: str) -> None: ...

    @property
    def size(self) -> int:
        """In bytes."""

    def read(self, offset: int, size: int) -> bytes:
        """Without the GIL while they come; exactly so many, or an exception."""

def read_range(name: str, offset: int, size: int) -> bytes:
    """See penstock.io.read_range."""

def curl() -> tuple[str | None, str | None]:
    """
    libcurl and what it was built with, with their versions, or why there is none.
    """

class TFRecordIterator:
    """Records of TFRecord files, from front to back."""

    def __iter__(self) -> TFRecordIterator: ...

    def __next__(self) -> Any: ...

    def findings(self) -> dict[str, int]:
        """What was damaged or missing so far."""

def iter_tfrecord(source: Any, specs: list[tuple[str, str]], verify: bool, max_member: int, errors: list[str] | None) -> TFRecordIterator:
    """See penstock.io.iter_tfrecord."""

def tfrecord_is_packed(names: Sequence[str]) -> bool:
    """Is one of these files compressed?"""

def infer_example(record: Any) -> tuple[list[tuple[str, str]], list[str]]:
    """
    The fields that a record has, by name, and the names of those without a type; empty if it is no Example.
    """

def parse_example(record: Any, specs: list[tuple[str, str]]) -> dict[str, Any]:
    """See penstock.io.parse_example."""

def encode_example(features: list[tuple[str, Any]]) -> bytes:
    """See penstock.io.encode_example."""

class TFRecordWriter:
    """See penstock.io.TFRecordWriter."""

    def __init__(self, path: str, compression: str) -> None: ...

    def write(self, record: Any) -> None: ...

    def close(self) -> None: ...

class NpyRows:
    """Rows of a .npy file, as bytes in C order."""

    def __init__(self, path: str, item_bytes: int) -> None: ...

    def read(self, first: int, count: int) -> bytes: ...

def load_npy(source: Any, mmap: bool) -> Any:
    """See penstock.io.load_npy."""

def load_npz(source: Any, names: list[str] | None) -> list[tuple[str, Any]]:
    """See penstock.io.load_npz."""

class ByteView:
    """Bytes of a record; read through a memoryview."""

class Order:
    """Which record is at which position: arithmetic, no list."""

    @staticmethod
    def leaf(number: int, n: int) -> Order: ...

    def shuffle(self, seed: int) -> Order: ...

    def shuffle_windows(self, seed: int, window: int, block: int = 0) -> Order: ...

    def take(self, n: int) -> Order: ...

    def skip(self, n: int) -> Order: ...

    def repeat(self, n: int | None) -> Order: ...

    def subset(self, bits: bytes, size: int) -> Order: ...

    def sample(self, weights: Sequence[float], n: int, seed: int) -> Order: ...

    @staticmethod
    def concat(parts: Sequence[Order]) -> Order: ...

    @staticmethod
    def zip(parts: Sequence[Order]) -> Order: ...

    @staticmethod
    def mix(parts: Sequence[Order], weights: Sequence[float], seed: int, endless: bool) -> Order: ...

    @property
    def length(self) -> int | None:
        """None: endless."""

    @property
    def shuffled(self) -> bool:
        """Does another epoch give another order?"""

    @property
    def digest(self) -> int: ...

    def locate(self, epoch: int, position: int) -> list[tuple[int, int]]:
        """[(leaf, record), ...] of one position."""

class Leaf:
    """Records of one source."""

    @staticmethod
    def open(names: Sequence[str], format: str, fields: Sequence[str], checksums: bool, verify: bool, mmap: bool, max_member: int) -> Leaf: ...

    @staticmethod
    def open_tokens(names: Sequence[str], dtype: str, window: int, stride: int, documents: Sequence[Sequence[int]], pad: int) -> Leaf: ...

    @staticmethod
    def open_npy(path: str, window: int = 0, stride: int = 1) -> Leaf: ...

    @staticmethod
    def of_arrays(arrays: dict[str, Any], window: int = 0, stride: int = 1) -> Leaf: ...

    @staticmethod
    def elsewhere(n: int, fields: Sequence[str], name: str) -> Leaf: ...

    def cached(self, plan: RowPlan, limit: int) -> Leaf:
        """Keeps records, with the steps of the plan done, up to `limit` bytes."""

    @property
    def cached_bytes(self) -> int:
        """What cached() keeps."""

    def __len__(self) -> int: ...

    @property
    def fields(self) -> list[str]: ...

    @property
    def placeable(self) -> list[tuple[int, str, list[int]]]:
        """
        (number of the field, dtype, shape) of those that may go straight into a batch.
        """

    @property
    def digest(self) -> int: ...

    @property
    def mean_bytes(self) -> int: ...

    def name(self, record: int) -> str: ...

    @staticmethod
    def open_arrays(name: str, format: str, fields: Sequence[str], window: int, stride: int, cache: int) -> Leaf:
        """Rows of arrays in chunks; `cache` bytes of what was unpacked are kept."""

    @property
    def row_fields(self) -> list[tuple[str, str | None, str, list[int]]]:
        """(name, dtype or None, NumPy's description of it, shape) of each array."""

    @property
    def notes(self) -> list[tuple[str, str, str]]:
        """(name, codecs, what there is to say) of each array."""

    @property
    def block(self) -> int:
        """How many records are best read together; 0: it does not matter."""

    @property
    def chunks_loaded(self) -> int:
        """Chunks, or groups of rows, that were unpacked so far."""

    @property
    def chunk_bytes(self) -> int:
        """What the cache of unpacked chunks holds."""

    @staticmethod
    def open_table(load: Callable[[int], tuple[Any, Any]], files: list[str], columns: list[tuple[str, str, str, list[int]]], groups: list[tuple[int, int, int, bytes]], cache: int, mean_bytes: int, chosen: str) -> Leaf:
        """
        Rows of tables. columns: (name, kind, dtype, shape); groups: (file, number in it, rows, rows that are samples as uint32, b'' for all); load(group) hands its columns over.
        """

def array_info(name: str, format: str) -> list[tuple[str, str, list[int], list[int], str, bool, str]]:
    """
    (name, dtype, shape, chunk shape, codecs, is a row a list of these, why it cannot be read) of each array.
    """

def array_attributes(name: str, format: str, path: str) -> str:
    """The attributes of an array or group, as JSON."""

class RowPlan:
    """The work on rows, step by step."""

    def __init__(self) -> None: ...

    @property
    def leaf(self) -> int | None:
        """The leaf whose own steps are added next, or None."""

    @leaf.setter
    def leaf(self, arg: int | None, /) -> None: ...

    def select(self, names: Sequence[str]) -> None: ...

    def rename(self, names: Sequence[tuple[str, str]]) -> None: ...

    def decode(self, field: str, kind: str) -> None: ...

    def example(self, specs: Sequence[tuple[str, str]]) -> None:
        """Parses the record in field "data" as a tf.train.Example."""

    def tokens(self, field: str, dtype: str, window: int, pad: int, placed: bool) -> None:
        """The tokens of a window as int64, straight into the batch if placed."""

    def array(self, field: str, dtype: str, shape: Sequence[int], placed: bool) -> None:
        """The bytes of a row as an array, straight into the batch if placed."""

    def place(self, field: str, number: int, dtype: str, shape: Sequence[int], column: str, at: int) -> None:
        """
        Field `number` of the only leaf goes straight into the batch, as column `at`.
        """

    @property
    def only_placed(self) -> bool:
        """Are there no other fields?"""

    @only_placed.setter
    def only_placed(self, arg: bool, /) -> None: ...

    def image(self, fields: Sequence[tuple[str, str, str | None, tuple[int, str, str, Sequence[float], Sequence[float]] | None]], request: ImageRequest, ordinal: int, box: str) -> None: ...

    def call(self, function: object, name: str, concurrency: int, with_row: bool) -> None:
        """function(sample), or function(sample, epoch, position)."""

    def fetch(self, function: object, concurrency: int) -> None:
        """function(sample, [(leaf, record), ...])."""

    def sample(self, order: Order, leaves: Sequence[Leaf], seed: int, epoch: int, position: int) -> dict[str, Any] | None: ...

class LoaderMemory:
    """What a loader keeps from epoch to epoch."""

    def __init__(self, budget: int, collate: Mapping[str, str], mask: bool, alone: bool, images: Mapping[str, tuple[int, str, str, Sequence[float], Sequence[float]]]) -> None: ...

    def stats(self) -> dict[str, int]: ...

    def use(self) -> tuple[int, int]: ...

class DataRun:
    """Batches of one epoch."""

    def __init__(self, plan: RowPlan, order: Order, leaves: Sequence[Leaf], memory: LoaderMemory, seed: int, rank: int, world: int, batch: int, ends: str, epoch: int, start: int, prefetch: int, threads: int, on_error: str, on_batch: object | None, stream: object | None, report: object) -> None: ...

    def next(self) -> tuple[Any, ...] | None: ...

    def stop(self, timeout: float) -> str | None: ...

    def stats(self) -> list[dict[str, Any]]: ...

def batches_of(rank: int, world: int, batch: int, ends: str, length: int | None, start: int) -> int | None:
    """How many batches a rank has; None: endless."""

def add_video_step(plan: RowPlan, field: str, request: ImageRequest, frames: int, sampling: str, stride: int, ordinal: int, stream: int, threads: int, keep_index: bool, numbers: str, damaged: str, finish: tuple[int, str, str, Sequence[float], Sequence[float]] | None) -> None:
    """Frames of a clip; see penstock.data.Dataset.decode_video."""

def add_audio_step(plan: RowPlan, field: str, options: AudioOptions, random_start: bool, ordinal: int, rate: str, damaged: str) -> None:
    """Samples of a file; see penstock.data.Dataset.decode_audio."""

def add_op_step(plan: RowPlan, field: str, ops: Sequence[NativeOp], ordinal: int) -> None:
    """Native ops on an array; see penstock.data.Dataset.apply."""

def start_trace(slices: int) -> None:
    """Records the last slices of each thread."""

def write_trace(path: str) -> None:
    """Ends the trace and writes it."""

def drop_trace() -> None:
    """Ends the trace, if there is one."""
