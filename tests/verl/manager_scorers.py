"""Scorers of managers.py, in a module that worker processes import."""

from __future__ import annotations


def weigh(data_source, solution_str, ground_truth, extra_info):
    """A number that single precision cannot hold, from all that a scorer is given."""
    return (len(solution_str) * 3 + len(data_source) + len(ground_truth) + extra_info["index"]) / 7


def float_scorer(data_source, solution_str, ground_truth, extra_info, **_):
    return weigh(data_source, solution_str, ground_truth, extra_info)


def dict_scorer(data_source, solution_str, ground_truth, extra_info, **_):
    score = weigh(data_source, solution_str, ground_truth, extra_info)
    return {"score": score, "acc": float(score > 5)}


def int_scorer(data_source, solution_str, ground_truth, extra_info, **_):
    return len(solution_str)


def bool_scorer(data_source, solution_str, ground_truth, extra_info, **_):
    return {"score": len(solution_str) > 10, "acc": len(solution_str) > 10}


async def async_scorer(data_source, solution_str, ground_truth, extra_info, **_):
    return weigh(data_source, solution_str, ground_truth, extra_info)


def plural_scorer(data_sources, solution_strs, ground_truths, extra_infos, **_):
    given = zip(data_sources, solution_strs, ground_truths, extra_infos, strict=True)
    return [weigh(*one) for one in given]


def plural_dicts(data_sources, solution_strs, ground_truths, extra_infos, **_):
    given = zip(data_sources, solution_strs, ground_truths, extra_infos, strict=True)
    return [dict_scorer(*one) for one in given]


def fails_for_no(data_source, solution_str, ground_truth, extra_info, **_):
    if solution_str == "no":
        raise ConnectionError("reset")
    return 1.0
