"""The example examples/python/cloud_flow.py does what it says."""

import importlib.util
from collections import Counter
from pathlib import Path

import numpy as np

PATH = Path(__file__).resolve().parents[3] / "examples" / "python" / "cloud_flow.py"
SPEC = importlib.util.spec_from_file_location("cloud_flow", PATH)
cloud_flow = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(cloud_flow)


def number_of(url):
    return int(url.rsplit("/", 1)[1].removesuffix(".png"))


def test_every_url_arrives_once_with_its_own_pixels():
    with cloud_flow.serve_pictures() as address:
        urls = [f"{address}/{i}.png" for i in range(203)]
        pipeline = cloud_flow.make_pipeline(urls, batch_size=32)
        with pipeline.auto_stop():
            batches = list(pipeline.get_iterator(timeout=30))
    assert Counter(url for names, _ in batches for url in names) == Counter(urls)
    assert [len(names) for names, _ in batches] == [32] * 6 + [11]
    for names, pictures in batches:
        assert pictures.dtype == np.uint8
        assert pictures.shape == (len(names), cloud_flow.HEIGHT, cloud_flow.WIDTH, 3)
        for url, pixels in zip(names, pictures, strict=True):
            assert np.array_equal(pixels, cloud_flow.picture(number_of(url)))


def test_a_group_that_cannot_be_fetched_is_lost_alone_and_logged(caplog):
    with cloud_flow.serve_pictures() as address:
        urls = [f"{address}/{i}.png" for i in range(16)] + [f"{address}/none.png"]
        pipeline = cloud_flow.make_pipeline(urls, batch_size=16)
        with pipeline.auto_stop():
            ((names, _),) = pipeline.get_iterator(timeout=30)
    assert sorted(names) == sorted(urls[:16])
    assert "none.png: HTTP/1.1 404" in caplog.text


def test_it_runs_as_a_program(capsys):
    cloud_flow.main()
    out = capsys.readouterr().out
    assert "32 pictures, shape (32, 24, 32, 3)" in out
    assert "download[4]" in out
    assert "GIL wait" in out
