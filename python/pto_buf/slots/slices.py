"""The part of a program that concerns one slot set: its accesses and releases, and the control flow around them."""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from pto_buf.slots.program import Access, Block, Branch, Loop, Node, Op, Program, Release, While


def slices(program: Program) -> Mapping[int, Block]:
    """By the key of each set, the program reduced to what concerns it. Their sizes add up to that of the program."""
    return {slots.key: () for slots in program.sets} | _of_block(program.checked or program.body)


def _of_block(block: Block) -> dict[int, Block]:
    found: dict[int, list[Node]] = {}
    for node in block:
        for key, part in _of_node(node):
            found.setdefault(key, []).append(part)
    return {key: tuple(nodes) for key, nodes in found.items()}


def _of_node(node: Node) -> Iterable[tuple[int, Node]]:
    match node:
        case Op(takes_up=Access(slots=slots)):
            yield slots.key, node
        case Op(accesses=accesses):
            for key in dict.fromkeys(access.slots.key for access in accesses):
                yield key, node
        case Release(slots=slots):
            yield slots.key, node
        case Loop(body=body):
            for key, part in _of_block(body).items():
                yield key, replace(node, body=part)
        case Branch(then=then, otherwise=otherwise):
            for key, (first, second) in _pairs(_of_block(then), _of_block(otherwise)).items():
                yield key, replace(node, then=first, otherwise=second)
        case While(before=before, after=after):
            for key, (first, second) in _pairs(_of_block(before), _of_block(after)).items():
                yield key, replace(node, before=first, after=second)


def _pairs(left: Mapping[int, Block], right: Mapping[int, Block]) -> Mapping[int, tuple[Block, Block]]:
    return {key: (left.get(key, ()), right.get(key, ())) for key in dict.fromkeys([*left, *right])}
