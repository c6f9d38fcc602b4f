"""Oracle: arithmetic on instants."""

from datetime import timedelta

import pytest

from dashboard.session import next_edge
from tests.dashboard.scenes import NOW


@pytest.mark.parametrize("width", [timedelta(seconds=2.5), timedelta(minutes=1), timedelta(minutes=30)])
def test_all_instants_of_a_bucket_share_its_end_so_that_points_do_not_move(width: timedelta) -> None:
    end = next_edge(NOW, width)
    assert end > NOW
    assert {next_edge(end - width, width), next_edge(end - timedelta(microseconds=1), width)} == {end}
    assert next_edge(end, width) == end + width
