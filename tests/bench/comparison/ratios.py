# SPDX-License-Identifier: Apache-2.0
"""Better quartiles over rounds, ratios and their geometric means."""

import math
from typing import NamedTuple

from .suite import BARS, HIDDEN, MORE_IS_BETTER, RATES


class Row(NamedTuple):
    """One figure of all libraries. Ratios: subject / best peer, of times (below 1 the subject is faster), or None."""
    key: tuple
    figures: dict  # library -> better quartile over the rounds
    ratio: float   # of `figures`
    rounds: list   # ratio of each round: the machine's noise
    ways: dict = {}  # library -> configuration of the figure


def better_quartile(values, unit):
    """The value reached by a quarter of the rounds. Disturbances only worsen a run, and cores far from each other for seconds
    triple the time of small messages: a median of few rounds is chance."""
    return sorted(values, reverse=unit in MORE_IS_BETTER)[(len(values) - 1) // 4]


def ratio_of(key, by_library, subject):
    """The ratio of one value per library. For hidden shares: of the visible rest, at least a thousandth."""
    if key.unit == HIDDEN:
        by_library = {name: max(100 - value, 0.1) for name, value in by_library.items()}
    rate = key.unit in RATES
    peers = [value for name, value in by_library.items() if name != subject and value > 0]
    mine = by_library.get(subject, 0)
    if not peers or mine <= 0:
        return None
    return max(peers) / mine if rate else mine / min(peers)


def row(key, values, subject, ways=None):
    figures = {name: better_quartile(list_, key.unit) for name, list_ in values.items() if list_}
    rounds = [ratio_of(key, dict(zip(values, of_round)), subject) for of_round in zip(*values.values())]
    return Row(key, figures, ratio_of(key, figures, subject), rounds, ways or {})


def rows(results, subject):
    return [row(key, values, subject, results.ways.get(key)) for key, values in results.values.items()]


def geometric_mean(ratios):
    ratios = [ratio for ratio in ratios if ratio]
    return math.exp(sum(map(math.log, ratios)) / len(ratios)) if ratios else None


class Verdict(NamedTuple):
    bar: object
    ratio: float
    rounds: list  # the ratio of each round
    figure: float = None  # the subject's worst, for bars with a limit

    def aim_reached(self):
        return self.figure <= self.bar.limit if self.bar.limit else self.ratio <= self.bar.aim

    def word(self):
        if self.ratio is None:
            return "not measured"
        if self.aim_reached():
            return "aim reached"
        return "bar met" if self.ratio <= self.bar.at_least else "behind"


def verdicts(all_rows, subject):
    for bar in BARS:
        mine = [r for r in all_rows if r.key.name in bar.names() and r.key.ranks == bar.ranks
                and (bar.sizes is None or r.key.size in bar.sizes)]
        rounds = [geometric_mean(ratios) for ratios in zip(*(r.rounds for r in mine))]
        own = [r.figures[subject] for r in mine if subject in r.figures]
        yield Verdict(bar, geometric_mean([r.ratio for r in mine]), [ratio for ratio in rounds if ratio], max(own, default=None))


def tables_of_bars(all_rows, subject):
    found = {}
    for verdict in verdicts(all_rows, subject):
        found.setdefault(verdict.bar.table, []).append(verdict)
    return found
