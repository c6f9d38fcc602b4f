"""What is read off the logits of golden weights, in torch: n rows at a time, few enough for the processor's cache."""

from typing import Any

import torch

from monitor.ports import Floats
from monitor.stats.samplers import RULES, Rule


def score_rows(logits: torch.Tensor, targets: torch.Tensor, wanted: torch.Tensor, top_k: int) -> tuple[Any, ...]:
    """Return logprob, rank, entropy, top ids, top logprobs and gathered logprobs of `logits` (n, V), as arrays.

    The logits are used up: passes over memory cost more than sums.
    """
    own, total = logits.gather(1, targets), logits.logsumexp(1, keepdim=True)
    top = logits.topk(top_k)
    scratch = torch.gt(logits, own, out=torch.empty_like(logits))
    rank = scratch.sum(1)
    mass = torch.softmax(logits, 1, out=scratch)
    mean = mass.mul_(logits.clamp_(min=torch.finfo(logits.dtype).min)).sum(1)  # a logit of -inf has no mass
    return (
        as_array((own - total)[:, 0]),
        rank.long().cpu().numpy(),
        as_array(total[:, 0] - mean),
        top.indices.cpu().numpy(),
        as_array(top.values - total),
        as_array(logits.gather(1, wanted) - total),
    )


def drawn_rows(logits: torch.Tensor, targets: torch.Tensor, said: torch.Tensor) -> tuple[Floats, Floats, Floats]:
    """Return what tests of samplers need of `logits` (n, V): mass above the target, mass of `said`, ln Z of all rules.

    `said` (n, widest) are ids that the answer holds already, padded with -1.
    """
    logprobs = torch.log_softmax(logits, 1)
    p = logprobs.exp()
    above = torch.where(logits > logits.gather(1, targets), p, 0.0).sum(1)
    spoken = torch.where(said >= 0, p.gather(1, said.clamp(min=0)), 0.0).sum(1)
    ordered = p.sort(1, descending=True).values
    mass = ordered.cumsum(1)
    norms = torch.stack([_log_norm(rule, logprobs, ordered, mass) for rule in RULES], 1)
    return as_array(above.clamp(max=1.0)), as_array(spoken.clamp(max=1.0)), as_array(norms)


def _log_norm(rule: Rule, logprobs: torch.Tensor, ordered: torch.Tensor, mass: torch.Tensor) -> torch.Tensor:
    """Return ln Z (n,) of `rule`; `ordered` (n, V) are the probabilities in descending order, `mass` their sums.

    The nucleus of top-p is the smallest set of the most likely tokens whose mass reaches p (A. Holtzman et al., "The
    curious case of neural text degeneration", ICLR 2020).
    """
    if rule.kind == "temperature":
        return torch.logsumexp(logprobs / rule.value, 1)
    if rule.kind == "top_p":
        n_kept = (mass < rule.value).sum(1) + 1
    elif rule.kind == "top_k":
        n_kept = torch.full_like(mass[:, 0], rule.value).long()
    else:
        n_kept = (ordered >= rule.value * ordered[:, :1]).sum(1)
    last = (n_kept - 1).clamp(max=mass.shape[1] - 1)
    return mass.gather(1, last[:, None])[:, 0].clamp(max=1.0).log()


def as_array(values: torch.Tensor) -> Floats:
    """Return `values` as float64 on the processor."""
    array: Floats = values.cpu().double().numpy()
    return array
