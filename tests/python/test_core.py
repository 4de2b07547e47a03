"""Core seen from Python: tensors share memory, permutations permute, random streams repeat."""

import gc
import hashlib
import threading
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from penstock._core import BufferPool, Permutation, RandomStream, Tensor

NUMPY_TYPES = [
    *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("float16", "float32", "float64"),
]
sizes = st.one_of(st.integers(1, 200), st.integers(1, 2**63))
words = st.integers(0, 2**64 - 1)


def address(array: np.ndarray[Any, Any]) -> int:
    return int(array.__array_interface__["data"][0])


# ---- Tensor: NumPy


@pytest.mark.parametrize("dtype", NUMPY_TYPES)
def test_numpy_shares_the_memory_of_every_dtype(dtype: str) -> None:
    tensor = Tensor.empty((2, 3), dtype)
    first, second, third = np.asarray(tensor), np.from_dlpack(tensor), np.array(tensor, copy=False)
    first[:] = np.arange(6).reshape(2, 3)
    assert first.dtype == np.dtype(dtype)
    assert first.shape == tensor.shape == (2, 3)
    assert first.nbytes == tensor.nbytes
    assert address(first) == address(second) == address(third)
    assert (second == first).all()
    assert address(first) % 64 == 0


def test_arrays_keep_the_memory_alive_after_tensor_and_pool_are_gone() -> None:
    pool = BufferPool(1 << 20)
    tensor = Tensor.empty((1000,), "int64", pool)
    array, shared = np.asarray(tensor), np.from_dlpack(tensor)
    array[:] = np.arange(1000)
    view = array[500:]
    del tensor, array
    gc.collect()
    assert pool.stats()["in_use"] == 8000
    del pool
    gc.collect()
    assert view.tolist() == list(range(500, 1000))
    assert shared.sum() == 499500


def test_memory_returns_to_the_pool_with_the_last_array() -> None:
    pool = BufferPool(1 << 20)
    tensor = Tensor.empty((1000,), "int64", pool)
    row, array = tensor.row(3), np.asarray(tensor)[::2]
    shared = np.from_dlpack(tensor)
    del tensor
    for name in ("row", "array", "shared"):
        assert pool.stats()["in_use"] == 8000, name
        if name == "row":
            del row
        elif name == "array":
            del array
        else:
            del shared
        gc.collect()
    assert pool.stats()["in_use"] == 0
    before = pool.stats()["recycled"]
    Tensor.empty((1000,), "int64", pool)
    assert pool.stats()["recycled"] == before + 1


def test_views_share_memory() -> None:
    tensor = Tensor.empty((4, 6), "int32")
    array = np.asarray(tensor)
    array[:] = np.arange(24).reshape(4, 6)
    assert np.asarray(tensor.row(2)).tolist() == array[2].tolist()
    columns = tensor.slice(1, 1, 6, 2)
    assert not columns.contiguous
    assert columns.strides == (6, 2)
    assert np.asarray(columns).tolist() == array[:, 1:6:2].tolist()
    assert np.from_dlpack(columns).tolist() == array[:, 1:6:2].tolist()
    assert np.asarray(tensor.reshape([3, -1])).tolist() == array.reshape(3, 8).tolist()
    assert len(tensor) == 4
    assert repr(tensor) == "Tensor(shape=(4, 6), dtype=int32)"
    assert memoryview(tensor).tobytes() == array.tobytes()
    with pytest.raises(BufferError, match="side by side"):
        hashlib.sha256(columns)


@given(
    shape=st.lists(st.integers(0, 4), max_size=8),
    dtype=st.sampled_from(NUMPY_TYPES),
)
def test_any_shape_reaches_numpy_both_ways(shape: list[int], dtype: str) -> None:
    tensor = Tensor.empty(shape, dtype)
    assert tensor.shape == tuple(shape)
    assert np.asarray(tensor).shape == tuple(shape)
    assert np.from_dlpack(tensor).shape == tuple(shape)
    assert tensor.size == np.prod(shape, dtype=int)


def test_array_method_casts_and_copies_on_request() -> None:
    tensor = Tensor.empty((3,), "int32")
    array = np.asarray(tensor)
    array[:] = [1, 2, 3]
    assert np.asarray(tensor, dtype="float32").tolist() == [1.0, 2.0, 3.0]
    assert tensor.__array__("float64").dtype == np.float64
    assert address(np.array(tensor, copy=True)) != address(array)
    assert address(tensor.__array__(copy=True)) != address(array)
    assert address(tensor.__array__()) == address(array)
    with pytest.raises(ValueError, match="copy=False"):
        tensor.__array__("float64", copy=False)


def test_bfloat16_has_no_numpy_form_and_says_what_to_use() -> None:
    tensor = Tensor.empty((3,), "bfloat16")
    for convert in (np.asarray, memoryview):
        with pytest.raises((TypeError, BufferError), match="from_dlpack"):
            convert(tensor)


def test_misuse_is_named() -> None:
    with pytest.raises(ValueError, match="complex64"):
        Tensor.empty((1,), "complex64")
    with pytest.raises(ValueError, match=r"shape\[1\]"):
        Tensor.empty((1, -1), "uint8")
    with pytest.raises(ValueError, match="9 dimensions"):
        Tensor.empty([1] * 9, "uint8")
    with pytest.raises(IndexError, match="row 4"):
        Tensor.empty((4,), "uint8").row(4)
    with pytest.raises(MemoryError, match="budget of 100"):
        Tensor.empty((101,), "uint8", BufferPool(100))
    with pytest.raises(TypeError, match="rank 0"):
        len(Tensor.empty((), "uint8"))


# ---- Tensor: DLPack


def test_dlpack_capsules_come_in_both_versions() -> None:
    tensor = Tensor.empty((2,), "float32")
    assert tensor.__dlpack_device__() == (1, 0)
    assert '"dltensor"' in repr(tensor.__dlpack__())
    assert '"dltensor"' in repr(tensor.__dlpack__(max_version=(0, 8)))
    assert '"dltensor_versioned"' in repr(tensor.__dlpack__(max_version=(1, 0)))
    assert '"dltensor_versioned"' in repr(tensor.__dlpack__(max_version=(2, 1), dl_device=(1, 0)))
    with pytest.raises(BufferError, match="dl_device"):
        tensor.__dlpack__(dl_device=(2, 0))
    with pytest.raises(ValueError, match="stream"):
        tensor.__dlpack__(stream=1)


def test_dlpack_copies_on_request() -> None:
    tensor = Tensor.empty((4, 4), "int16")
    np.asarray(tensor)[:] = np.arange(16).reshape(4, 4)
    view = tensor.slice(1, 0, 4, 3)
    copy = np.from_dlpack(view, copy=True)
    assert copy.tolist() == np.asarray(view).tolist()
    assert address(copy) != address(np.asarray(view))


def test_unused_capsules_give_the_memory_back() -> None:
    pool = BufferPool()
    capsules = [
        Tensor.empty((100,), "uint8", pool).__dlpack__(),
        Tensor.empty((100,), "uint8", pool).__dlpack__(max_version=(1, 0)),
    ]
    assert pool.stats()["in_use"] == 200
    capsules.clear()
    gc.collect()
    assert pool.stats()["in_use"] == 0


@pytest.mark.parametrize("dtype", [*NUMPY_TYPES, "bfloat16"])
def test_torch_shares_the_memory_and_keeps_it_alive(dtype: str) -> None:
    torch = pytest.importorskip("torch")
    pool = BufferPool()
    tensor = Tensor.empty((8, 16), dtype, pool)
    shared = torch.from_dlpack(tensor)
    assert str(shared.dtype) == f"torch.{dtype}"
    assert tuple(shared.shape) == (8, 16)
    again = torch.from_dlpack(tensor.row(1))
    assert again.data_ptr() == shared[1].data_ptr()
    if dtype != "bfloat16":
        assert shared.data_ptr() == address(np.asarray(tensor))
    shared.fill_(1)
    del tensor
    gc.collect()
    nbytes = shared.numel() * shared.element_size()
    assert pool.stats()["in_use"] == nbytes
    assert bool((again == 1).all())
    del shared, again
    gc.collect()
    assert pool.stats()["in_use"] == 0


@pytest.mark.parametrize("dtype", ["uint8", "int32", "float16", "bfloat16", "float32"])
def test_jax_shares_the_memory_and_keeps_it_alive(dtype: str) -> None:
    jnp = pytest.importorskip("jax.numpy")
    pool = BufferPool()
    tensor = Tensor.empty((8, 16), dtype, pool)
    if dtype != "bfloat16":
        np.asarray(tensor)[:] = 3
    shared = jnp.from_dlpack(tensor)
    assert str(shared.dtype) == dtype
    if dtype != "bfloat16":
        assert shared.unsafe_buffer_pointer() == address(np.asarray(tensor))
    del tensor
    gc.collect()
    assert pool.stats()["in_use"] == shared.nbytes
    if dtype != "bfloat16":
        assert (np.asarray(shared) == 3).all()
    del shared
    gc.collect()
    assert pool.stats()["in_use"] == 0


# ---- BufferPool


def test_pool_reports_its_budget_and_what_it_recycles() -> None:
    pool = BufferPool(1000)
    assert pool.budget == 1000
    assert BufferPool().budget is None
    assert BufferPool().stats()["budget"] is None
    for _ in range(5):
        Tensor.empty((600,), "uint8", pool)
    stats = pool.stats()
    assert stats["fresh"] == 1
    assert stats["recycled"] == 4
    assert stats["peak"] == 600
    assert stats["cached"] == stats["footprint"] > 0
    pool.trim()
    assert pool.stats()["footprint"] == 0


# ---- Permutation


@given(n=st.integers(1, 3000), seed=words, epoch=words)
def test_permutation_is_a_bijection(n: int, seed: int, epoch: int) -> None:
    permutation = Permutation(n, seed, epoch)
    order = np.asarray(permutation.fill(0, n))
    assert order.dtype == np.uint64
    assert (np.sort(order) == np.arange(n, dtype=np.uint64)).all()
    assert permutation[0] == order[0]
    assert permutation[-1] == order[-1]


@given(n=sizes, seed=words, epoch=words, data=st.data())
def test_index_is_the_inverse_at_any_size(n: int, seed: int, epoch: int, data: Any) -> None:
    permutation = Permutation(n, seed, epoch)
    i = data.draw(st.integers(0, min(n - 1, 2**63 - 1)))
    assert 0 <= permutation[i] < n
    assert permutation.index(permutation[i]) == i


@given(n=sizes, seed=words, data=st.data())
def test_fill_by_stride_takes_the_same_numbers(n: int, seed: int, data: Any) -> None:
    permutation = Permutation(n, seed)
    start = data.draw(st.integers(0, n - 1))
    stride = data.draw(st.integers(1, n))
    count = data.draw(st.integers(0, min((n - 1 - start) // stride + 1, 50)))
    taken = np.asarray(permutation.fill(start, count, stride)).tolist()
    assert taken == [permutation[start + k * stride] for k in range(count)]


def philox(counter: list[int], key: list[int]) -> list[int]:
    mask = 0xFFFFFFFF
    for _ in range(10):
        a, b = 0xD2511F53 * counter[0], 0xCD9E8D57 * counter[2]
        counter = [
            *((b >> 32) ^ counter[1] ^ key[0], b & mask),
            *((a >> 32) ^ counter[3] ^ key[1], a & mask),
        ]
        key = [(key[0] + 0x9E3779B9) & mask, (key[1] + 0xBB67AE85) & mask]
    return counter


def halves(word: int) -> list[int]:
    return [word & 0xFFFFFFFF, word >> 32]


@given(seed=words, epoch=words, position=words, operation=st.integers(0, 2**32 - 1))
def test_random_stream_is_philox(seed: int, epoch: int, position: int, operation: int) -> None:
    key = philox([*halves(epoch), 0, 0], halves(seed))[:2]
    stream = RandomStream(seed, epoch, position, operation)
    for draw in range(3):
        block = philox([*halves(position), operation, draw], key)
        assert [stream.bits32() for _ in range(4)] == block


@given(n=sizes, seed=words, epoch=words, stream=words, data=st.data())
@settings(max_examples=50)
def test_permutation_is_the_documented_network(
    n: int, seed: int, epoch: int, stream: int, data: Any
) -> None:
    """An independent implementation of what src/core/feistel.h fixes for ever."""
    bits = (n - 1).bit_length()
    low, high = (1 << (bits + 1) // 2) - 1, (1 << bits // 2) - 1
    outer = philox([*halves(epoch), 0, 0], halves(seed))
    keys = RandomStream(outer[0] | outer[1] << 32, n, stream)
    rounds = [
        (keys.bits32(), keys.bits32()) for _ in range(32 if bits <= 8 else 16 if bits <= 16 else 10)
    ]

    def fold(x: int, m: int) -> int:
        return (x * m >> 32) ^ (x * m & 0xFFFFFFFF)

    def mix(value: int) -> int:
        right, left = value & low, value >> (bits + 1) // 2
        for r, (a, b) in enumerate(rounds):
            if r % 2 == 0:
                left ^= fold(fold(right ^ a, 0xD2511F53) ^ b, 0xCD9E8D57) & high
            else:
                right ^= fold(fold(left ^ a, 0xD2511F53) ^ b, 0xCD9E8D57) & low
        return left << (bits + 1) // 2 | right

    i = data.draw(st.integers(0, min(n - 1, 2**63 - 1)))
    expected = mix(i)
    while expected >= n:
        expected = mix(expected)
    assert Permutation(n, seed, epoch, stream)[i] == expected


def test_permutation_misuse_is_named() -> None:
    for n in (0, 2**63 + 1):
        with pytest.raises(ValueError, match=str(n)):
            Permutation(n)
    permutation = Permutation(10)
    assert len(permutation) == permutation.n == 10
    assert Permutation(2**63).n == 2**63
    for bad in (10, -11):
        with pytest.raises(IndexError):
            permutation[bad]
    with pytest.raises(IndexError, match="pass the end"):
        permutation.fill(5, 6)
    with pytest.raises(ValueError, match="count"):
        permutation.fill(0, -1)
    assert sorted(permutation) == list(range(10))  # type: ignore[call-overload]


def test_long_fill_lets_other_threads_run() -> None:
    permutation = Permutation(2**62 + 1)
    started, counted = threading.Event(), 0

    def fill() -> None:
        started.set()
        permutation.fill(0, 8_000_000)

    thread = threading.Thread(target=fill)
    thread.start()
    started.wait()
    while thread.is_alive():
        counted += 1
    thread.join()
    assert counted > 1000  # with the GIL held this loop would get a turn or two


# ---- RandomStream


def test_random_draws_are_in_range_and_repeat() -> None:
    one, two = RandomStream(1, 2, 3, 4), RandomStream(1, 2, 3, 4)
    for _ in range(100):
        assert one.bits64() == two.bits64()
        assert 0 <= one.uniform() < 1
        assert 5 <= two.uniform(5, 6) < 6
        assert one.below(3) in (0, 1, 2)
        two.bits64()
        assert one.normal() == two.normal()
        assert one.bernoulli(1.0)
        two.uniform()
