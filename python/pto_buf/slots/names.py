"""Where in a program things are: the loops around each op, and where the value of each op is named."""

from collections.abc import Iterator, Mapping
from dataclasses import replace

from pto_buf.slots.program import Access, Block, Branch, Loop, Node, Op, Release, While


def loops_of_ops(block: Block, around: tuple[int, ...] = ()) -> Iterator[tuple[int, tuple[int, ...]]]:
    """For each op the keys of the loops around it, outermost first."""
    for node in block:
        match node:
            case Op(key=key):
                yield key, around
            case Release():
                pass
            case Branch(then=then, otherwise=otherwise):
                yield from loops_of_ops(then, around)
                yield from loops_of_ops(otherwise, around)
            case Loop(key=key, body=body):
                yield from loops_of_ops(body, (*around, key))
            case While(key=key, before=before, after=after):
                yield from loops_of_ops(before, (*around, key))
                yield from loops_of_ops(after, (*around, key))


def blocks_of(node: Node) -> tuple[Block, ...]:
    """The blocks in a node, in program order."""
    match node:
        case Loop(body=body):
            return (body,)
        case Branch(then=then, otherwise=otherwise):
            return then, otherwise
        case While(before=before, after=after):
            return before, after
        case Op() | Release():
            return ()


def effective(block: Block) -> Block:
    """The block without the ops that only take up what a slot holds."""
    found: list[Node] = []
    for node in block:
        match node:
            case Op(takes_up=Access()):
                pass
            case Loop(body=body):
                found.append(replace(node, body=effective(body)))
            case Branch(then=then, otherwise=otherwise):
                found.append(replace(node, then=effective(then), otherwise=effective(otherwise)))
            case While(before=before, after=after):
                found.append(replace(node, before=effective(before), after=effective(after)))
            case _:
                found.append(node)
    return tuple(found)


def names_in(node: Node) -> frozenset[int]:
    """The ops whose values are named in a node."""
    match node:
        case Op(accesses=accesses):
            named = (name for access in accesses for name in (access.lease, access.held))
            return frozenset(name for name in named if name is not None)
        case Release(lease=lease):
            return frozenset() if lease is None else frozenset({lease})
        case Loop() | Branch() | While():
            return frozenset(name for block in blocks_of(node) for inner in block for name in names_in(inner))


def last_names(block: Block) -> Mapping[int, frozenset[int]]:
    """By the key of a node: the ops of its block whose values are named there for the last time."""
    found: dict[int, frozenset[int]] = {}
    _find_last_names(block, found)
    return found


def _find_last_names(block: Block, found: dict[int, frozenset[int]]) -> frozenset[int]:
    """Fills `found` for the block and all in it; yields the names in it that it does not define itself."""
    last: dict[int, int] = {}
    for node in block:
        names = names_in(node) if isinstance(node, Op | Release) else frozenset[int]()
        for inner in blocks_of(node):
            names |= _find_last_names(inner, found)
        last.update(dict.fromkeys(names, node.key))
    own = {node.key for node in block}
    ending: dict[int, list[int]] = {}
    for name, node in last.items():
        if name in own:
            ending.setdefault(node, []).append(name)
    found.update({node: frozenset(names) for node, names in ending.items()})
    return frozenset(last) - own
