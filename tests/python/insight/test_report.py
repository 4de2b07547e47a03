"""The report: what is on the page, and how a browser takes it."""

import html
import shutil
import subprocess
import time
from dataclasses import replace
from html.parser import HTMLParser

import penstock as ps
import pytest
from penstock import io
from penstock.data._history import History, join
from penstock.insight import headspace, report
from penstock.insight._bottleneck import judge
from penstock.insight._charts import readiness
from penstock.pipeline import PipelineBuilder

VOID = {"meta", "br", "rect", "circle", "polyline"}


class Page(HTMLParser):
    """Checks that tags are closed in order; collects ids, text and addresses."""

    def __init__(self, text):
        super().__init__()
        self.open, self.ids, self.words, self.links = [], [], "", []
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.ids += [value for name, value in attrs if name == "id"]
        self.links += [value for name, value in attrs if name in ("src", "href")]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        pass

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.words += data


def pictures(count, bad):
    import numpy as np

    picture = io.encode_image(np.zeros((40, 60, 3), np.uint8), "jpeg")
    return [{"image": b"<no picture>" if i == bad else picture} for i in range(count)]


@pytest.fixture
def loader():
    plan = ps.from_list(pictures(64, bad=9)).decode_image("image", size=(16, 16)).batch(4)
    return plan.loader(threads=2, on_error="skip")


def test_the_page_of_a_loader_has_everything(loader, tmp_path):
    found = headspace(loader, lambda batch: time.sleep(0.01), batches=8, phases=2)
    for _ in loader:
        pass
    report(str(tmp_path / "report.html"), loader, headspace=found)
    page = Page((tmp_path / "report.html").read_text())
    assert {"verdict", "headspace", "stages", "errors"} <= set(page.ids)
    assert page.links == []  # nothing is fetched
    charts = ("Step times", "Readiness", "Waiting for a batch", "Memory in use")
    for words in ("The flow", *charts, "fetch"):
        assert words in page.words
    # Headspace has the first word.
    assert page.words.index("A perfect loader would save") < page.words.index("The flow")
    reason = judge(loader.stats()["stages"]).reason
    assert page.words.index("The flow") < page.words.index(reason)
    assert "from_list[9]" in page.words or "sample" in page.words


def test_a_sample_that_failed_is_listed_once_with_how_often(tmp_path):
    items = ps.from_list(pictures(20, bad=9)).repeat(7)
    loader = items.decode_image("image", size=(16, 16)).batch(4).loader(on_error="skip")
    for _ in loader:
        pass
    assert len(loader.errors()) == 7
    loader.report(str(tmp_path / "report.html"))
    text = (tmp_path / "report.html").read_text()
    table = text[text.index('<table id="errors">') :]
    assert table.count("<tr>") == 2  # the names of the columns, and this one
    assert "</td><td>7</td><td>0</td><td>9</td>" in table
    assert "more samples" not in table
    loader._failures.count = 12_000
    loader.report(str(tmp_path / "report.html"))
    words = Page((tmp_path / "report.html").read_text()).words
    assert "Only 7 of 12,000 failures are known one by one." in words


def test_names_that_are_no_text_are_escaped(loader, tmp_path):
    for _ in loader:
        pass
    loader._failures.listed = [loader.errors()[0]._replace(sample="caf\udce9.jpg")]
    loader.report(str(tmp_path / "report.html"))
    assert r"caf\xe9.jpg" in Page((tmp_path / "report.html").read_text()).words


def test_loader_report_is_the_same_page(loader, tmp_path):
    for _ in loader:
        pass
    loader.report(str(tmp_path / "a.html"))
    assert {"verdict", "stages", "errors"} <= set(Page((tmp_path / "a.html").read_text()).ids)


def test_the_page_of_a_pipeline(tmp_path):
    builder = PipelineBuilder().add_source(range(9)).pipe(str, name="<b>")
    pipeline = builder.pipe(len, name="x" * 60).add_sink(2)
    pipeline = pipeline.build(num_threads=1)
    with pipeline.auto_stop():
        list(pipeline)
    report(str(tmp_path / "report.html"), pipeline)
    page = Page((tmp_path / "report.html").read_text())
    assert "<b>" in page.words  # names are escaped
    assert "xxx…" in page.words  # and cut, in the drawing
    assert "x" * 60 in page.words


def counted(seconds):
    """A pipeline that has run; its loop took so long over an item."""
    pipeline = PipelineBuilder().add_source(range(50)).pipe(lambda x: time.sleep(0.002) or x)
    pipeline = pipeline.add_sink(1).build(num_threads=1)
    with pipeline.auto_stop():
        for _ in pipeline:
            time.sleep(seconds)
    return pipeline


def test_a_loop_at_full_speed_is_told_from_the_training_that_headspace_has_seen(tmp_path):
    found = headspace(list(range(9)), lambda batch: time.sleep(0.001), batches=8, phases=2)
    found = replace(found, real=0.0201, cached=0.020, share=0.005, uncertainty=0.001, wait=0.0001)
    pipeline = counted(0)
    report(str(tmp_path / "report.html"), pipeline, headspace=found)
    page = Page((tmp_path / "report.html").read_text())
    assert "full-speed" in page.ids
    first, flow = page.words.split("The flow")
    assert "the model is the bottleneck" in first
    assert "at full speed" in flow
    assert str(judge(pipeline.stats())) in flow  # waits and advice are its own
    for words in ("The data keeps up", "The consumer waited", "of the requests"):
        assert words not in first
    assert "The data keeps up" not in flow


def test_a_loop_that_does_as_much_as_the_step_is_judged_with_it(tmp_path):
    found = headspace(list(range(9)), lambda batch: time.sleep(0.001), batches=8, phases=2)
    found = replace(found, real=0.0042, cached=0.004, wait=0.0001)
    pipeline = counted(0.004)
    report(str(tmp_path / "report.html"), pipeline, headspace=found)
    page = Page((tmp_path / "report.html").read_text())
    assert "full-speed" not in page.ids
    assert "The data keeps up: the consumer waited 2% of the time." in page.words.split("The fl")[0]


def test_the_waits_of_a_page_with_headspace_are_those_of_its_steps(tmp_path):
    pipeline = PipelineBuilder().add_source(range(50)).add_sink(8).build(num_threads=1)
    with pipeline.auto_stop():
        for _ in pipeline:
            time.sleep(0.002)  # it hardly ever waits
    found = headspace(list(range(9)), lambda batch: time.sleep(0.001), batches=8, phases=2)
    found = replace(found, real=0.004, wait=0.002)
    report(str(tmp_path / "report.html"), pipeline, headspace=found)
    words = Page((tmp_path / "report.html").read_text()).words
    assert "The consumer waited 50% of the time" in words
    assert "The data keeps up" not in words


def test_the_flow_shows_rows_and_how_busy_a_stage_is(loader, tmp_path):
    for _ in loader:
        pass
    loader.report(str(tmp_path / "report.html"))
    text = (tmp_path / "report.html").read_text()
    words = Page(text).words
    assert " tasks/s, " in words  # a batch is many
    assert "tasks/s" in str(loader)
    for colour in ("work", "wait", "blocked"):
        assert f'class="key {colour}"' in text
    assert text.count("fill-opacity=") == len(loader.stats()["stages"]) - 1


def test_before_anything_has_run_there_is_nothing_to_report(loader, tmp_path):
    with pytest.raises(ValueError, match="nothing has run yet"):
        report(str(tmp_path / "report.html"), loader)


def test_readiness_is_the_share_of_batches_at_hand():
    history = History()
    for i in range(100):
        history.add(float(i), 0.0 if i < 75 else 0.5, i)
    assert join(history.points()) == (99.0, 100, 75, 12.5, 99)
    drawn = readiness(history.points())
    assert "100%" in drawn
    assert "50%" in drawn


def test_a_history_stays_small_and_forgets_nothing():
    history = History()
    for i in range(100_000):
        history.add(float(i), 0.5, i)
    points = history.points()
    assert len(points) < 2048
    assert sum(point.batches for point in points) > 99_000
    assert sum(point.ready for point in points) == 0  # half a second each
    assert points[-1].wait / points[-1].batches == 0.5
    assert points == sorted(points)


def chromium(page, folder, *options):
    """Opens the page; gives what the browser printed on standard output. No word of complaint."""
    done = subprocess.run(
        [
            "chromium",
            *("--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"),
            *("--enable-logging=stderr", f"--user-data-dir={folder / 'profile'}"),
            *options,
            page.as_uri(),
        ],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    assert "CONSOLE" not in done.stderr
    return done.stdout


@pytest.fixture
def browser():
    if shutil.which("chromium") is None:
        pytest.skip("chromium is not installed")
    return chromium


SIZE = "--window-size=1200,1200"


def framed(page, width, script):
    """In a frame as wide as the window of a phone or a desk; the script gives the title."""
    frame = page.with_name("frame.html")
    frame.write_text(
        f'<body style="margin:0"><iframe width="{width}" height="1200" style="border:0" '
        f'srcdoc="{html.escape(page.read_text())}" onload="const page = this.contentDocument; '
        f'document.title = {html.escape(script)}"></iframe></body>'
    )
    return frame


@pytest.mark.parametrize(("width", "dark"), [(1200, False), (390, True)])
def test_a_browser_shows_it_without_complaint(loader, tmp_path, browser, width, dark):
    found = headspace(loader, lambda batch: time.sleep(0.001), batches=8, phases=2)
    for _ in loader:
        pass
    page, picture = tmp_path / "report.html", tmp_path / "page.png"
    report(str(page), loader, headspace=found)
    # How wide the page wants to be: more than that would have to be scrolled sideways.
    frame = framed(page, width, "page.documentElement.scrollWidth")
    scheme = f"--blink-settings=preferredColorScheme={1 - dark}"
    dom = browser(frame, tmp_path, SIZE, scheme, "--hide-scrollbars", "--dump-dom")
    assert f"<title>{width}</title>" in dom
    dom = browser(page, tmp_path, SIZE, scheme, "--dump-dom")
    for element in ("verdict", "headspace", "stages", "errors"):
        assert f'id="{element}"' in dom
    browser(frame, tmp_path, SIZE, scheme, "--hide-scrollbars", f"--screenshot={picture}")
    shown = io.load_image(str(picture), mode="L")[:, :width]
    assert (shown[2, 2] < 100) == dark
    assert shown.std() > 5  # not blank


NAMES = [
    "normalize_and_augment_image_batch",
    "DOWNLOAD_FROM_WAREHOUSE_MAMMOGRAMS",
    "画像を読み込んで正規化し拡張するための前処理ステージその一",
    "🖼️🚀" * 12,
    "W" * 80,
    "one_name_of_" * 12,
]
# Pairs of texts of a drawing that overlap, and texts that leave it.
OVERLAPS = """[...page.querySelectorAll('svg')].flatMap(svg => {
    const boxes = [...svg.querySelectorAll('text')].map(text => text.getBBox())
    return boxes.filter((a, i) => a.x < 0 || a.x + a.width > svg.viewBox.baseVal.width ||
        boxes.slice(i + 1).some(b => a.x < b.x + b.width && b.x < a.x + a.width &&
            a.y < b.y + b.height && b.y < a.y + a.height))
}).length + ' of ' + page.documentElement.scrollWidth"""


@pytest.mark.parametrize("width", [1200, 390])
@pytest.mark.parametrize("name", NAMES)
def test_names_of_any_length_fit(tmp_path, browser, name, width):
    pipeline = PipelineBuilder().add_source(range(60))
    pipeline = pipeline.pipe(lambda x: time.sleep(0.002) or x, name=name).add_sink(2)
    pipeline = pipeline.build(num_threads=1)
    with pipeline.auto_stop():
        list(pipeline)
    page = tmp_path / "report.html"
    report(str(page), pipeline)
    assert name in Page(page.read_text()).words.split("The flow")[0]  # the verdict has it
    dom = browser(framed(page, width, OVERLAPS), tmp_path, SIZE, "--hide-scrollbars", "--dump-dom")
    assert f"<title>0 of {width}</title>" in dom
