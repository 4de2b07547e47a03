"""What the choices in cloud_flow.py buy, with a store that waits 5 ms before each answer.

Run it: python examples/python/measure.py [--small]. The best of five rounds in which all variants
took turns. The CPU time is that of both sides: the store runs in this process.
"""

import argparse
import sys
import time

import cloud_flow

CHOICES = {
    "1 download at a time, groups of 8": {"downloads": 1},
    "4 downloads at a time, groups of 8": {"downloads": 4},
    "16 downloads at a time, groups of 8": {"downloads": 16},
    "4 downloads at a time, no groups": {"downloads": 4, "group": 1},
    "16 downloads at a time, no groups": {"downloads": 16, "group": 1},
    "16 downloads at a time, groups of 8, 1 decoder": {"downloads": 16, "decoders": 1},
}


def read(urls: list[str], choice: dict[str, int]) -> None:
    pipeline = cloud_flow.make_pipeline(urls, 32, **choice)
    with pipeline.auto_stop():
        count = sum(len(names) for names, _ in pipeline.get_iterator(timeout=60))
    assert count == len(urls)


def measure(urls: list[str], rounds: int) -> None:
    seconds = dict.fromkeys(CHOICES, float("inf"))
    cpu = dict.fromkeys(CHOICES, float("inf"))
    for _ in range(rounds):
        for name, choice in CHOICES.items():
            used, begun = time.process_time(), time.perf_counter()
            read(urls, choice)
            seconds[name] = min(seconds[name], time.perf_counter() - begun)
            cpu[name] = min(cpu[name], time.process_time() - used)
    print("| | pictures/s | CPU s per 1,000 |\n|---|---|---|")
    for name in CHOICES:
        cost = 1000 * cpu[name] / len(urls)
        print(f"| {name} | {len(urls) / seconds[name]:,.0f} | {cost:.3f} |")


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--small", action="store_true", help="little data, for a test")
    small = parser.parse_args(arguments).small
    cloud_flow.Store.wait = 0.005
    with cloud_flow.serve_pictures() as address:
        urls = [f"{address}/{i}.png" for i in range(48 if small else 600)]
        measure(urls, 1 if small else 5)


if __name__ == "__main__":
    main(sys.argv[1:])
