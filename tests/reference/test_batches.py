"""Batches cover every task once and keep their bound."""

from dataclasses import dataclass

from hypothesis import given
from hypothesis import strategies as st

from monitor.ports import ScoreTask
from reference.batches import Row, n_inputs, padded, padded_gather, plan, predicting

TASKS = st.lists(
    st.builds(
        lambda p, c: ScoreTask(prompt_ids=tuple(range(1, p + 1)), completion_ids=tuple(range(c))),
        st.integers(1, 20),
        st.integers(0, 12),
    ),
    max_size=25,
)




@dataclass(frozen=True)
class Read:
    """What a model would remember; here only how much."""

    n_tokens: int


PASTS = (None, Read(1), Read(3))


def rows(tasks: list[ScoreTask]) -> list[Row]:
    """The tasks that have an answer, on pasts that their prompts can have."""
    answered = [(at, task) for at, task in enumerate(tasks) if task.completion_ids]
    fitting = [[past for past in PASTS if past is None or past.n_tokens < len(task.prompt_ids)] for _, task in answered]
    return [Row(at, task, pasts[at % len(pasts)]) for (at, task), pasts in zip(answered, fitting, strict=True)]


@given(tasks=TASKS, bound=st.integers(1, 120))
def test_every_row_is_in_exactly_one_batch_within_the_bound(tasks: list[ScoreTask], bound: int) -> None:
    given_rows = rows(tasks)
    batches = plan(given_rows, batch_tokens=bound)
    assert sorted(row.at for batch in batches for row in batch) == [row.at for row in given_rows]
    for batch in batches:
        unread = len(batch) * max(row.n_unread for row in batch)
        held = len(batch) * max(row.n_read + row.n_unread for row in batch)
        assert len(batch) == 1 or (unread <= bound and held <= 8 * bound)


@given(tasks=TASKS)
def test_the_longest_of_a_past_come_first(tasks: list[ScoreTask]) -> None:
    order = [row for batch in plan(rows(tasks), batch_tokens=50) for row in batch]
    for past in PASTS:
        lengths = [row.n_unread for row in order if row.past is past]
        assert lengths == sorted(lengths, reverse=True)


def test_padding_by_hand() -> None:
    tasks = [
        ScoreTask(prompt_ids=(5, 6), completion_ids=(7, 8), gather=((1,), (2, 3))),
        ScoreTask(prompt_ids=(9,), completion_ids=(4,)),
    ]
    made = [Row(0, tasks[0], Read(1)), Row(1, tasks[1])]
    assert [row.unread for row in made] == [(6, 7), (9,)]
    assert [n_inputs(task) for task in tasks] == [3, 1]
    ids, mask = padded([row.unread for row in made])
    assert ids.tolist() == [[6, 7], [9, 0]]
    assert mask.tolist() == [[1, 1], [1, 0]]
    lines, columns = predicting(made)
    assert (lines.tolist(), columns.tolist()) == ([0, 0, 1], [0, 1, 0])
    lines, columns = predicting([Row(0, tasks[0])])
    assert columns.tolist() == [1, 2]
    assert padded_gather(tasks).tolist() == [[1, 0], [2, 3], [0, 0]]
