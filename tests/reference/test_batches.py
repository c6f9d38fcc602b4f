"""Batches cover every task once and keep their bound."""

from hypothesis import given
from hypothesis import strategies as st

from monitor.ports import ScoreTask
from reference.batches import n_inputs, padded_gather, padded_inputs, plan, predicting

TASKS = st.lists(
    st.builds(
        lambda p, c: ScoreTask(prompt_ids=tuple(range(1, p + 1)), completion_ids=tuple(range(c))),
        st.integers(1, 20),
        st.integers(0, 12),
    ),
    max_size=25,
)


@given(tasks=TASKS, bound=st.integers(1, 120))
def test_every_answered_task_is_in_exactly_one_batch_within_the_bound(tasks: list[ScoreTask], bound: int) -> None:
    batches = plan(tasks, batch_tokens=bound)
    covered = sorted(at for batch in batches for at in batch)
    assert covered == [at for at, task in enumerate(tasks) if task.completion_ids]
    for batch in batches:
        padded = len(batch) * max(n_inputs(tasks[at]) for at in batch)
        assert padded <= bound or len(batch) == 1


@given(tasks=TASKS)
def test_the_longest_come_first(tasks: list[ScoreTask]) -> None:
    lengths = [n_inputs(tasks[at]) for batch in plan(tasks, batch_tokens=50) for at in batch]
    assert lengths == sorted(lengths, reverse=True)


def test_padding_by_hand() -> None:
    tasks = [
        ScoreTask(prompt_ids=(5, 6), completion_ids=(7, 8), gather=((1,), (2, 3))),
        ScoreTask(prompt_ids=(9,), completion_ids=(4,)),
    ]
    ids, mask = padded_inputs(tasks)
    assert ids.tolist() == [[5, 6, 7], [9, 0, 0]]
    assert mask.tolist() == [[1, 1, 1], [1, 0, 0]]
    rows, columns = predicting(tasks)
    assert (rows.tolist(), columns.tolist()) == ([0, 0, 1], [1, 2, 0])
    assert padded_gather(tasks).tolist() == [[1, 0], [2, 3], [0, 0]]
