"""Certificates: the states of a proof, written down, and checked again in one pass without search. Pure."""

import hashlib
from typing import Any

from pto_buf.check.certificate.replay import Replay
from pto_buf.check.model import Model
from pto_buf.check.program import Program
from pto_buf.check.proof.invariants import MALFORMED, Group, Json, Recorder, group_json, group_of, nodes_of
from pto_buf.check.proof.joint import in_step
from pto_buf.check.proof.prove import Prover, provers
from pto_buf.check.whole import one_core, whole_block

VERSION = 3


def digest(text: str) -> str:
    """What ties a certificate to a text."""
    return hashlib.sha256(text.encode()).hexdigest()


def certificate(program: Program, model: Model) -> Json | None:
    """The states of the proof of a program; None if it is not proven."""
    parts: list[Json] = []
    for prover, proof in provers(program, model):
        if proof.open or proof.findings:
            return None
        groups = [_group(prover, *one) for one in proof.groups]
        parts.append(
            {"cores": prover.cores, "in_step": prover.in_step, "groups": [group_json(group) for group in groups]}
        )
    return {"kernel": program.name, "version": VERSION, "parts": parts}


def _group(prover: Prover, goals: Any, moduli: Any, stage: int) -> Group:
    """Explored again for the proven goals alone: others leave traces in the states."""
    explorer = prover.explorer(Recorder, moduli, goals, stage)
    explorer.explore()
    return Group(goals, moduli, stage, explorer.states, explorer.links)


def check_certificate(program: Program, model: Model, data: Any) -> str:
    """What is wrong with a certificate, which may be any JSON; nothing if it proves the program."""
    match data:
        case {"version": version, "kernel": kernel, "parts": [*parts]} if parts:
            pass
        case _:
            return "it is malformed"
    if version != VERSION or kernel != program.name:
        return "it is for another kernel, or of another version"
    if len(program.codes) == 1:
        expected = [Prover(program, model, one_core(program))]
    else:
        alone = [Prover(program, model, one_core(program, number)) for number in range(len(program.codes))]
        between = len(parts) == len(alone) + 1
        block, joined = whole_block(program), _in_step(parts[-1])
        if joined:
            joint = next((one for one in in_step(block) if one.in_step == joined), None)
            if joint is None:
                return "not so many loops of its cores run alike"
            block = joint
        expected = [*(alone if between else []), Prover(program, model, block, only_between=between)]
    if len(parts) != len(expected):
        return "a part of the proof is missing"
    for prover, part in zip(expected, parts, strict=True):
        words = _check_part(prover, part)
        if words:
            return words
    return ""


def _in_step(part: Any) -> Any:
    match part:
        case {"in_step": number}:
            return number
        case _:
            return None


def _check_part(prover: Prover, part: Any) -> str:
    nodes = nodes_of(prover.code)
    goals = prover.goals()
    left = dict.fromkeys(goals)
    try:
        groups = [group_of(data, nodes) for data in part["groups"]]
    except MALFORMED:
        return "a group of states is not one of this program"
    for group in groups:
        if not prover.follows(group.goals) or not set(goals).issuperset(group.goals):
            return "a group has goals that are not followed together, or none of this program"
        try:
            holds = prover.explorer(Replay, group.moduli, group.goals, group.stage).holds(group.states, group.links)
        except MALFORMED:
            return "a group of states is not one of this program"
        if not holds:
            return "a run leads out of the states, or something is wrong in one of them"
        for goal in group.goals:
            left.pop(goal, None)
    return f"{len(left)} goals are proven by no group" if left else ""
