# SPDX-License-Identifier: Apache-2.0
"""Results of bounded searches know whether they are results."""

import math

import pytest

from diffbot_ident.velocity.bounded_search import BoundedSearch, search_further


def at(value, **more):
    return BoundedSearch("dead time", value, 0.0, 1.0, **more)


def test_an_end_is_a_result_only_where_it_is_natural():
    assert at(0.5).inside and at(0.5).std(0.1) == 0.1
    assert at(0.0).at_low and not at(0.0, natural_low=True).at_low
    assert at(1.0).at_high and not at(1.0, natural_high=True).at_high
    assert at(1.0).std(0.1) == math.inf
    # The last step of a grid of 0.25 is an end, the last but one is not.
    assert at(0.8, margin=0.25).at_high and at(0.75, margin=0.25).inside


def test_what_lies_at_an_end_says_so():
    assert str(at(1.0)) == "dead time 1 s, at the end of the search, 1 s"
    assert str(at(0.3)) == "dead time 0.3 s"


@pytest.mark.parametrize("true", [0.3, 1.7, 6.0])
def test_a_search_is_repeated_with_a_longer_range_until_it_ends_inside(true):
    tried = []

    def search(reach):
        tried.append(reach)
        return BoundedSearch("dead time", min(true, reach), 0.0, reach, natural_low=True)

    further = search_further(search, lambda each: each, 1.0, 4.0)
    assert further.inside is (true < 4.0)
    assert tried == [reach for reach in (1.0, 2.0, 4.0) if reach == 1.0 or reach < 2.0 * true]
