# SPDX-License-Identifier: Apache-2.0
"""Medians, ratios and their geometric means."""

import math
from statistics import median
from typing import NamedTuple

from .suite import BARS, RATES


class Row(NamedTuple):
    """One measurement of all libraries. Ratios: subject / best peer as times (below 1: ahead), or None."""
    key: tuple
    medians: dict
    ratio: float   # of the medians over all rounds
    rounds: list   # of each round alone, which shows how far the machine's noise goes


def ratio_of(key, by_library, subject):
    """Of one value for each library."""
    rate = key.unit in RATES
    peers = [value for name, value in by_library.items() if name != subject and value > 0]
    mine = by_library.get(subject, 0)
    if not peers or mine <= 0:
        return None
    return max(peers) / mine if rate else mine / min(peers)


def row(key, values, subject):
    medians = {name: median(list_) for name, list_ in values.items() if list_}
    rounds = [ratio_of(key, dict(zip(values, of_round)), subject) for of_round in zip(*values.values())]
    return Row(key, medians, ratio_of(key, medians, subject), rounds)


def rows(results, subject):
    return [row(key, values, subject) for key, values in results.values.items()]


def geometric_mean(ratios):
    ratios = [ratio for ratio in ratios if ratio]
    return math.exp(sum(map(math.log, ratios)) / len(ratios)) if ratios else None


class Verdict(NamedTuple):
    bar: object
    ratio: float
    rounds: list  # the ratio of each round

    def word(self):
        if self.ratio is None:
            return "not measured"
        if self.ratio <= self.bar.aim:
            return "aim reached"
        return "bar met" if self.ratio <= self.bar.at_least else "behind"


def verdicts(all_rows):
    for bar in BARS:
        mine = [r for r in all_rows if r.key.name == bar.name and r.key.ranks == bar.ranks
                and (bar.sizes is None or r.key.size in bar.sizes)]
        rounds = [geometric_mean(ratios) for ratios in zip(*(r.rounds for r in mine))]
        yield Verdict(bar, geometric_mean([r.ratio for r in mine]), [ratio for ratio in rounds if ratio])
