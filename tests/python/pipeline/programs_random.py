"""Programs put together at random, always the same ones: stages of all kinds, hooks on some."""

import random

from both import built, drain, odd_fails, odd_fails_later, twice, twice_later
from programs_mixed import only


def drop_threes(x):
    return None if x % 3 == 0 else x


async def later(x):
    return x + 1


def fails_midway(x):
    yield x
    if x % 4 == 1:
        raise ValueError(f"midway {x}")
    yield x + 1


OPS = [abs, drop_threes, later, odd_fails, odd_fails_later, twice, twice_later, fails_midway]
NO_ORDER = (twice, twice_later, fails_midway)  # does not work there


def make(seed):
    """A program: some stages in a row, perhaps inside a path."""

    def program(p):
        chance = random.Random(seed)
        log = []

        def pipe(i):
            op = chance.choice(OPS)
            limit = chance.choice([None, None, None, 2])
            order = "completion" if op in NO_ORDER else chance.choice(["completion", "input"])
            return p.Pipe(op, name=f"s{i}", max_failures=limit, output_order=order)

        def stage(i):
            kind = chance.random()
            if kind < 0.15:
                drop = chance.random() < 0.5
                return [p.Aggregate(chance.choice([2, 3]), drop_last=drop), p.Disaggregate()]
            if kind < 0.3:
                return [p.PathVariants(lambda x: 0, [[pipe(f"{i}a"), pipe(f"{i}b")]], name=f"s{i}")]
            return [pipe(i)]

        stages = [one for i in range(chance.randint(1, 4)) for one in stage(i)]
        names = [f"s{i}{x}" for i in range(4) for x in ("", "a", "b") if chance.random() < 0.4]
        if chance.random() < 0.5:
            names += ["disaggregate", "path_variants_merge"]
        options = {"source": range(chance.choice([0, 5, 12])), "sink": 100, "num_threads": 1}
        found = drain(built(p, stages, task_hook_factory=only(p, log, *names), **options))
        by_stage = {}
        if not found["raised"]:  # else what else was under way is a matter of chance
            for line in log:
                by_stage.setdefault(line.split()[0], []).append(line)
        # There, more is under way in input order; and several stages may have the same name.
        return found, {
            name: lines if name[0] == "s" and "input" not in repr(stages) else sorted(lines)
            for name, lines in by_stage.items()
        }

    program.__name__ = f"random_{seed}"
    program.is_program = True
    program.logs = False
    return program


PROGRAMS = [make(seed) for seed in range(25)]
