"""Each transform gives Pillow's or NumPy's pixels, alone and in pipelines; chance is keyed."""

import threading
import time
from typing import Any

import numpy as np
import pytest
from penstock import _core, io, ops
from penstock.pipeline import PipelineBuilder, PipelineFailure
from pictures import FILTERS, Pixels, as_image, channels_of, photographs
from PIL import Image, ImageEnhance, ImageOps

pytest.importorskip("skimage")
pytest.importorskip("sklearn")
MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


def pictures() -> dict[str, Pixels]:
    """Photographs of 1 to 4 channels, and odd sizes."""
    found = {
        f"{name} {channels}": channels_of(pixels, channels)
        for name, pixels in photographs().items()
        for channels in (1, 2, 3, 4)
        if channels == 3 or name in ("chelsea", "rocket")
    }
    noise = np.random.default_rng(1).integers(0, 256, (67, 71, 4), np.uint8)
    for height, width in ((1, 1), (1, 67), (67, 1), (17, 31), (32, 16)):
        for channels in (1, 3, 4):
            part = noise[:height, :width, :channels]
            found[f"{height}x{width}x{channels}"] = part if channels > 1 else part[:, :, 0]
    return found


PICTURES = pictures()
every_picture = pytest.mark.parametrize("pixels", PICTURES.values(), ids=PICTURES.keys())


def assert_same(ours: Any, expected: Any) -> None:
    assert isinstance(ours, np.ndarray)
    np.testing.assert_array_equal(ours, np.asarray(expected), strict=True)


# ---- geometry


@every_picture
def test_flips_and_turns(pixels: Pixels) -> None:
    image = as_image(pixels)
    assert_same(ops.flip()(pixels), ImageOps.mirror(image))
    assert_same(ops.flip("vertical")(pixels), ImageOps.flip(image))
    for turns in range(-4, 6):
        assert_same(ops.rotate90(turns)(pixels), np.rot90(pixels, turns))
    assert_same(ops.rotate90()(pixels), image.transpose(Image.Transpose.ROTATE_90))


@every_picture
def test_crops(pixels: Pixels) -> None:
    height, width = pixels.shape[:2]
    boxes = [(0, 0, width, height), (width // 3, height // 4, width, height), (0, 0, 1, 1)]
    for box in boxes:
        assert_same(ops.crop(box)(pixels), as_image(pixels).crop(box))
    for h, w in ((1, 1), (height, width), ((height + 1) // 2, (width + 2) // 3)):
        top, left = round((height - h) / 2), round((width - w) / 2)
        assert_same(ops.center_crop((h, w))(pixels), pixels[top : top + h, left : left + w])


@every_picture
def test_padding(pixels: Pixels) -> None:
    height, width = pixels.shape[:2]
    for left, top, right, bottom in ((0, 0, 0, 0), (1, 2, 3, 4), (0, 17, 5, 0)):
        sides = [(top, bottom), (left, right)] + [(0, 0)] * (pixels.ndim - 2)
        box = (left, top, right, bottom)
        assert_same(ops.pad(box)(pixels), np.pad(pixels, sides))
        assert_same(ops.pad(box, fill=9)(pixels), np.pad(pixels, sides, constant_values=9))
        assert_same(ops.pad(box, "edge")(pixels), np.pad(pixels, sides, "edge"))
        if max(left, right) < width and max(top, bottom) < height:
            assert_same(ops.pad(box, "reflect")(pixels), np.pad(pixels, sides, "reflect"))
    if pixels.ndim == 3 and pixels.shape[2] == 3:
        expected = ImageOps.expand(as_image(pixels), 4, fill=(1, 2, 3))
        assert_same(ops.pad(4, fill=(1, 2, 3))(pixels), expected)


# ---- colour


@every_picture
def test_colours(pixels: Pixels) -> None:
    image = as_image(pixels)
    for mode in ("L", "LA", "RGB", "RGBA"):
        assert_same(ops.convert(mode)(pixels), image.convert(mode))  # type: ignore[arg-type]
    bgr = np.asarray(image.convert("RGB"))[:, :, ::-1]
    assert_same(ops.convert("BGR")(pixels), bgr)
    assert_same(ops.convert("RGB", source="BGR")(bgr), image.convert("RGB"))
    assert_same(ops.convert("L", source="BGR")(bgr), image.convert("RGB").convert("L"))
    if image.mode == "RGBA":
        ink = Image.frombytes("CMYK", image.size, np.ascontiguousarray(pixels).tobytes())
        assert_same(ops.convert("RGB", source="CMYK")(pixels), ink.convert("RGB"))


@every_picture
def test_grayscale_keeps_the_channels(pixels: Pixels) -> None:
    expected = pixels.copy()
    if pixels.ndim == 3 and pixels.shape[2] >= 3:
        expected[:, :, :3] = np.asarray(as_image(pixels).convert("L"))[:, :, None]
    assert_same(ops.grayscale()(pixels), expected)


@every_picture
@pytest.mark.parametrize("factor", [0.0, 0.3, 0.999, 1.0, 1.4, 3.0])
def test_enhancements(pixels: Pixels, factor: float) -> None:
    image = as_image(pixels)
    assert_same(ops.brightness(factor)(pixels), ImageEnhance.Brightness(image).enhance(factor))
    assert_same(ops.contrast(factor)(pixels), ImageEnhance.Contrast(image).enhance(factor))
    assert_same(ops.saturation(factor)(pixels), ImageEnhance.Color(image).enhance(factor))


@every_picture
@pytest.mark.parametrize("layout", ["HWC", "CHW"])
def test_normalising(pixels: Pixels, layout: Any) -> None:
    deep = pixels if pixels.ndim == 3 else pixels[:, :, None]
    expected = deep if layout == "HWC" else deep.transpose(2, 0, 1)
    for dtype in ("uint8", "float32", "float16"):
        assert_same(ops.normalize(dtype=dtype, layout=layout)(pixels), expected.astype(dtype))  # type: ignore[arg-type]
    normal = ops.normalize(0.45, 0.22, layout=layout)(pixels)
    np.testing.assert_allclose(normal, (expected / 255 - 0.45) / 0.22, atol=1e-5)
    if deep.shape[2] == 3:
        normal = ops.normalize(MEAN, STD)(pixels)
        np.testing.assert_allclose(
            normal, ((deep / 255 - MEAN) / STD).transpose(2, 0, 1), atol=1e-5
        )
        half = ops.normalize(MEAN, STD, dtype="float16")(pixels)
        assert_same(half, normal.astype(np.float16))


# ---- chance


RANDOM_OPS = {
    "random_resized_crop": lambda **key: ops.random_resized_crop((20, 30), **key),
    "random_crop": lambda **key: ops.random_crop((20, 30), **key),
    "random_flip": lambda **key: ops.random_flip(0.5, **key),
    "color_jitter": lambda **key: ops.color_jitter(0.4, 0.4, 0.4, **key),
    "decode_image": lambda **key: ops.decode_image((20, 30), "random_resized", flip=0.5, **key),
}


def inputs(name: str) -> list[Any]:
    crops = [np.ascontiguousarray(p[:99, :120]) for p in photographs().values()] * 3
    return [io.encode_image(p, "png") for p in crops] if name == "decode_image" else crops


@pytest.mark.parametrize("name", RANDOM_OPS)
def test_chance_depends_on_seed_epoch_and_position(name: str) -> None:
    make, image = RANDOM_OPS[name], inputs(name)[0]
    op = make(seed=3, epoch=1)

    def results(op: Any) -> list[bytes]:
        return [op(image, position=p).tobytes() for p in range(24)]

    first = results(op)
    assert results(op) == first
    assert results(make(seed=3, epoch=1)) == first
    assert results(make(seed=3, epoch=2)) != first
    assert results(make(seed=4, epoch=1)) != first
    assert len(set(first)) >= (2 if name == "random_flip" else 20)
    with pytest.raises(ValueError, match="position="):
        op(image)


@pytest.mark.parametrize("name", RANDOM_OPS)
def test_pipelines_draw_by_order_of_arrival_for_any_concurrency(name: str) -> None:
    images = inputs(name)
    op = RANDOM_OPS[name](seed=5)
    expected = [op(image, position=i) for i, image in enumerate(images)]
    for concurrency in (1, 3):
        pipeline = (
            PipelineBuilder()
            .add_source(images)
            .pipe(op, concurrency=concurrency, output_order="input")
            .add_sink()
            .build()
        )
        with pipeline.auto_stop():
            results = [np.asarray(item) for item in pipeline]
        assert len(results) == len(expected)
        for ours, alone in zip(results, expected, strict=True):
            np.testing.assert_array_equal(ours, alone)


def test_a_random_crop_is_the_stream_s() -> None:
    """The draws are part of the format: area, ratio, then row and column; flips apart."""
    pixels = photographs()["coffee"]
    height, width = pixels.shape[:2]
    numbers = _core.RandomStream(9, 2, 17, 1)
    for _ in range(10):
        area = numbers.uniform(0.08, 1.0) * height * width
        shape = float(np.exp(numbers.uniform(np.log(3 / 4), np.log(4 / 3))))
        w, h = round(float(np.sqrt(area * shape))), round(float(np.sqrt(area / shape)))
        if 0 < w <= width and 0 < h <= height:
            break
    top, left = numbers.below(height - h + 1), numbers.below(width - w + 1)
    box = (left, top, left + w, top + h)
    ours = ops.random_resized_crop((64, 48), interpolation="bicubic", seed=9, epoch=2)
    expected = as_image(pixels).crop(box).resize((48, 64), Image.Resampling.BICUBIC)
    assert_same(ours(pixels, position=17), expected)


def test_flips_and_jitter_keep_to_their_ranges() -> None:
    pixels = photographs()["rocket"][:40, :60]
    mirrored = pixels[:, ::-1]
    for p, share in ((0.0, 0), (1.0, 400)):
        op = ops.random_flip(p)
        assert sum((op(pixels, position=i) == mirrored).all() for i in range(400)) == share
    often = sum((ops.random_flip(0.3)(pixels, position=i) == mirrored).all() for i in range(400))
    assert 80 <= often <= 160
    assert_same(ops.color_jitter()(pixels, position=1), pixels)
    white = np.full((1, 1, 3), 100, np.uint8)
    values = [int(ops.color_jitter(0.5)(white, position=i)[0, 0, 0]) for i in range(300)]
    assert min(values) >= 50
    assert max(values) <= 150
    assert np.ptp(values) > 80


def test_a_mask_follows_its_image() -> None:
    pixels = photographs()["chelsea"]
    mask = (pixels[:, :, 0] > 120).astype(np.uint8)
    image_op = ops.random_resized_crop((50, 50), seed=1)
    mask_op = ops.random_resized_crop((50, 50), interpolation="nearest", seed=1)
    plain_op = ops.random_resized_crop((50, 50), interpolation="nearest", seed=1)
    for position in range(20):
        cut = plain_op(pixels, position=position)
        assert_same(mask_op(mask, position=position), (cut[:, :, 0] > 120).astype(np.uint8))
        assert image_op(pixels, position=position).shape == (50, 50, 3)


# ---- use


def test_out_receives_the_pixels_and_must_fit() -> None:
    pixels = photographs()["china"]
    batch = np.zeros((2, 32, 48, 3), np.uint8)
    assert ops.resize((32, 48))(pixels, out=batch[1]).base is batch
    assert_same(batch[1], ops.resize((32, 48))(pixels))
    assert not batch[0].any()
    floats = np.zeros((3, *pixels.shape[:2]), np.float32)
    ops.normalize(MEAN, STD)(pixels, out=floats)
    assert_same(floats, ops.normalize(MEAN, STD)(pixels))
    for wrong in (batch, batch[1, :, :, :2], batch[1].astype(np.float32), batch[1, :31]):
        with pytest.raises((ValueError, BufferError)):
            ops.resize((32, 48))(pixels, out=wrong)
    own = pixels.copy()
    with pytest.raises(ValueError, match="share memory"):
        ops.flip()(own, out=own)


def test_images_may_come_in_any_dress() -> None:
    pixels = photographs()["flower"][:50, :60]
    expected = ops.flip()(pixels)
    for dress in (Image.fromarray(pixels), _core.as_tensor(pixels), memoryview(pixels.copy())):
        assert_same(ops.flip()(dress), expected)
    frozen = pixels.copy()
    frozen.flags.writeable = False
    assert_same(ops.flip()(frozen), expected)


def test_a_tensor_of_an_array_shares_its_memory() -> None:
    for array in (
        np.arange(24, dtype=np.uint8).reshape(2, 3, 4),
        np.arange(24, dtype=np.float32).reshape(4, 6)[::-2, ::3],
        np.arange(10, dtype=np.int64)[::-1],
        np.zeros((0, 3), np.uint16),
        np.array([True, False]),
        np.float16([1, 2]),
    ):
        back = np.asarray(_core.as_tensor(array))
        assert_same(back, array)
        assert array.size == 0 or np.shares_memory(back, array)
    kept = _core.as_tensor(np.full(1000, 7, np.uint8))  # nobody else holds the array
    assert (np.asarray(kept) == 7).all()
    for odd in (np.array(["a"]), np.zeros(2, complex), np.array([object()])):
        with pytest.raises(ValueError, match="cannot be a Tensor"):
            _core.as_tensor(odd)


def test_what_is_no_image_is_refused_with_a_reason() -> None:
    op = ops.flip()
    for wrong in (
        np.zeros((4, 4, 3), np.float32),
        np.zeros((4, 4, 5), np.uint8),
        np.zeros(4, np.uint8),
        np.zeros((0, 4, 3), np.uint8),
        b"bytes",
        [[1, 2], [3, 4]],
    ):
        with pytest.raises(ValueError, match="image"):
            op(wrong)
    with pytest.raises(ValueError, match="fit"):
        ops.center_crop((10, 10))(np.zeros((5, 5), np.uint8))
    with pytest.raises(ValueError, match="not inside"):
        ops.crop((0, 0, 10, 10))(np.zeros((5, 5), np.uint8))
    with pytest.raises(ValueError, match="mean has 3 values for 1 channels"):
        ops.normalize(MEAN, STD)(np.zeros((5, 5), np.uint8))
    with pytest.raises(ValueError, match="reflecting"):
        ops.pad(5, "reflect")(np.zeros((5, 5), np.uint8))


def test_arguments_that_can_never_work_are_refused_at_once() -> None:
    wrong: list[Any] = [
        lambda: ops.crop((5, 5, 5, 9)),
        lambda: ops.center_crop((0, 3)),
        lambda: ops.pad(-1),
        lambda: ops.pad(1, fill=256),
        lambda: ops.pad(1, "wrap"),  # type: ignore[arg-type]
        lambda: ops.flip("sideways"),  # type: ignore[arg-type]
        lambda: ops.convert("CMYK"),  # type: ignore[arg-type]
        lambda: ops.brightness(float("inf")),
        lambda: ops.normalize(0.5),
        lambda: ops.normalize(0.5, 0.0),
        lambda: ops.normalize(dtype="int8"),  # type: ignore[arg-type]
        lambda: ops.random_flip(1.5),
        lambda: ops.random_resized_crop((5, 5), scale=(0.5, 0.1)),
        lambda: ops.color_jitter(-1),
        lambda: ops.decode_image(crop="random_resized"),
    ]
    for make in wrong:
        with pytest.raises(ValueError):  # noqa: PT011
            make()


def test_a_chain_of_native_stages_equals_the_ops_one_by_one() -> None:
    files = [io.encode_image(pixels, "jpeg") for pixels in photographs().values()] * 5
    chain = [
        ops.decode_image(),
        ops.resize(120, "bicubic"),
        ops.center_crop((100, 100)),
        ops.pad(2, "edge"),
        ops.rotate90(),
        ops.brightness(1.2),
        ops.convert("BGR"),
        ops.normalize(MEAN, STD),
    ]
    builder = PipelineBuilder().add_source(files)
    for op in chain:
        builder.pipe(op, concurrency=2, output_order="input")
    pipeline = builder.add_sink().build()
    with pipeline.auto_stop():
        results = [np.asarray(item) for item in pipeline]
    assert len(results) == len(files)
    for file, ours in zip(files, results, strict=True):
        expected: Any = file
        for op in chain:
            expected = op(expected)
        assert_same(ours, expected)


def test_native_and_python_stages_mix() -> None:
    images = [np.full((6, 4), i, np.uint8) for i in range(30)]
    pipeline = (
        PipelineBuilder()
        .add_source(images)
        .pipe(ops.rotate90())
        .pipe(lambda tensor: np.asarray(tensor) + 1)
        .pipe(ops.resize((2, 2)), concurrency=2, output_order="input")
        .aggregate(5)
        .disaggregate()
        .pipe(ops.pad(1))
        .add_sink()
        .build()
    )
    with pipeline.auto_stop():
        results = [np.asarray(item) for item in pipeline]
    for i, result in enumerate(results):
        assert_same(result, np.pad(np.full((2, 2), i + 1, np.uint8), 1))
    assert len(results) == 30


def test_a_bad_item_fails_alone() -> None:
    images: list[Any] = [np.zeros((4, 4), np.uint8)] * 5
    images[2] = "not an image"
    images[3] = np.zeros((4, 4), np.float64)

    def run(**options: Any) -> int:
        builder = PipelineBuilder().add_source(images).pipe(ops.flip()).add_sink()
        pipeline = builder.build(**options)
        with pipeline.auto_stop():
            return len(list(pipeline))

    assert run() == 3
    with pytest.raises(PipelineFailure):
        run(max_failures=1)


def test_python_goes_on_while_an_op_works() -> None:
    pixels = np.zeros((4000, 4000, 3), np.uint8)

    def went_on() -> bool:
        started, ended = threading.Event(), threading.Event()

        def work() -> None:
            started.set()
            ops.resize((3999, 3999), "lanczos")(pixels)
            ended.set()

        thread = threading.Thread(target=work)
        thread.start()
        started.wait()
        time.sleep(0.01)  # were the GIL held, this would come back when the op is done
        early = not ended.is_set()
        thread.join()
        return early

    assert any(went_on() for _ in range(5))  # others may want the cores


def test_threads_do_not_disturb_each_other() -> None:
    ops_in_use = [ops.resize((31, 57), name) for name in FILTERS] + [ops.contrast(1.3)]  # type: ignore[arg-type]
    pixels = photographs()["coffee"]
    expected = [op(pixels) for op in ops_in_use]
    wrong: list[str] = []

    def work() -> None:
        for _ in range(5):
            for op, result in zip(ops_in_use, expected, strict=True):
                if (op(pixels) != result).any():
                    wrong.append(op.name)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
