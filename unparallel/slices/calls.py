"""What calls, functions, `with` blocks and imports do to a frame."""

from dataclasses import replace
from typing import Dict, List, Mapping, Sequence, Tuple, cast

from .containers import Bound, method_of
from .frame import EXIT, NULL, Block, Cell, Frame, Function, Handler, Value
from .handlers import merge, nothing, tuple_of
from .instructions import Instruction, Routine, Star, unfit
from .sizes import Undecided

# what a handler begins with that asks the context manager, and raises again unless that says otherwise
_ASKING = (
    ("WITH_CLEANUP_START", "END_FINALLY"),
    ("WITH_CLEANUP_START", "WITH_CLEANUP_FINISH", "END_FINALLY"),
    ("WITH_EXCEPT_START", "POP_JUMP_IF_TRUE", "RERAISE"),
)


def _before_with(frame: Frame, it: Instruction) -> None:
    value = frame.domain.enter(frame.pop())
    frame.stack += [EXIT, value]


def _setup_with(frame: Frame, it: Instruction) -> None:
    ops = tuple(instruction.op for instruction in frame.routine.instructions[it.target : it.target + 3])
    if not any(ops[: len(asking)] == asking for asking in _ASKING):
        raise Undecided("it handles exceptions")
    value = frame.domain.enter(frame.pop())
    frame.push(EXIT)
    frame.blocks.append(Block(it.target, len(frame.stack), True))
    frame.push(value)


def _leave_with(frame: Frame, it: Instruction) -> None:
    # nothing was raised, so the manager's answer is dropped, and the None stays for what ends the block
    nothing, manager = frame.pop(), frame.pop()
    if nothing is not None or manager is not EXIT:
        raise unfit()
    frame.push(None)


def _end_finally(frame: Frame, it: Instruction) -> None:
    if it.arg or frame.pop() is not None:
        raise Undecided("it handles exceptions")


def _return(frame: Frame, it: Instruction) -> None:
    for block in frame.blocks:
        # up to 3.7 the blocks that are left this way are ended first
        if block.manager and frame.stack[block.height - 1 : block.height] != [EXIT]:
            raise Undecided("it handles exceptions")
    frame.result = frame.pop()


def _return_constant(frame: Frame, it: Instruction) -> None:
    frame.result = it.value


def _import_name(frame: Frame, it: Instruction) -> None:
    level, wanted = frame.popn(2)
    # -1 is Python 2's "here first, then everywhere"
    if level not in (0, -1):
        raise Undecided("it imports from its own package")
    frame.push(frame.domain.module(it.name, wanted is not None))


def _import_from(frame: Frame, it: Instruction) -> None:
    frame.push(frame.domain.attribute(frame.peek(1), it.name))


# -- calls


def _keyword_names(frame: Frame, names: Value) -> Tuple[str, ...]:
    if not isinstance(names, (list, tuple)) or not all(isinstance(name, str) for name in names):
        raise unfit()
    return tuple(names)


def _set_keywords(frame: Frame, it: Instruction) -> None:
    frame.keywords = _keyword_names(frame, it.value)


def _do_call(frame: Frame, function: Value, args: List[Value], names: Tuple[str, ...]) -> None:
    if len(names) > len(args):
        raise unfit()
    split = len(args) - len(names)
    _do_call_with(frame, function, args[:split], dict(zip(names, args[split:])))


def _do_call_with(frame: Frame, function: Value, args: Sequence[Value], kwargs: Dict[str, Value]) -> None:
    if isinstance(function, Bound):
        frame.push(_call_method(frame, function, args, kwargs))
    else:
        frame.push(frame.machine.call(function, args, kwargs))


def _call_method(frame: Frame, bound: Bound, args: Sequence[Value], kwargs: Mapping[str, Value]) -> Value:
    """A method of Python's own list or dict."""
    method = method_of(bound.owner, bound.name)
    if method is None or kwargs or not method.fewest <= len(args) <= method.most:
        raise Undecided(f"it calls the method {bound.name!r}")
    if method.changes:
        frame.may_change(bound.owner)
    if isinstance(bound.owner, dict) and method.reads_all:
        frame.spend_on(bound.owner)
    if method.takes_items:
        args = [frame.iterate(arg) for arg in args]
        frame.machine.spend(sum(len(cast(Sequence[Value], arg)) for arg in args))
    return method.meaning(bound.owner, *args)


def _call_function(frame: Frame, it: Instruction) -> None:
    args = frame.popn(it.arg)
    _do_call(frame, frame.pop(), args, ())


def _call_pairs(frame: Frame, it: Instruction) -> None:
    # before 3.6 the low byte counts positional arguments, the next byte pairs of name and value
    pairs = frame.popn(2 * (it.arg >> 8 & 255))
    args = frame.popn(it.arg & 255)
    names = _keyword_names(frame, pairs[0::2])
    _do_call(frame, frame.pop(), args + pairs[1::2], names)


def _call_pairs_and_more(frame: Frame, it: Instruction) -> None:
    # the same with `*args`, `**kwargs` or both on top; since 3.5 `*args` lies below the pairs
    star = cast(Star, it.value)
    more = frame.pop() if star.keywords else {}
    rest = frame.pop() if star.positional and not star.below else ()
    pairs = frame.popn(2 * (it.arg >> 8 & 255))
    rest = frame.pop() if star.positional and star.below else rest
    args = [*frame.popn(it.arg & 255), *frame.iterate(rest)]
    kwargs: Dict[object, Value] = dict(zip(_keyword_names(frame, pairs[0::2]), pairs[1::2]))
    merge(frame, kwargs, more, True)
    _do_call_with(frame, frame.pop(), args, cast(Dict[str, Value], kwargs))


def _call_spread(frame: Frame, it: Instruction) -> None:
    kwargs: Dict[object, Value] = {}
    if it.arg & 1:
        merge(frame, kwargs, frame.pop(), True)
    args = list(frame.iterate(frame.pop()))
    frame.machine.spend(len(args))
    _do_call_with(frame, _function(frame, args) if it.value else frame.pop(), args, cast(Dict[str, Value], kwargs))


def _call_with_names(frame: Frame, it: Instruction) -> None:
    names = _keyword_names(frame, frame.pop())
    args = frame.popn(it.arg)
    _do_call(frame, frame.pop(), args, names)


def _call(frame: Frame, it: Instruction) -> None:
    names, frame.keywords = frame.keywords, ()
    _call_two_places(frame, frame.popn(it.arg), names)


def _call_names_on_top(frame: Frame, it: Instruction) -> None:
    names = _keyword_names(frame, frame.pop())
    _call_two_places(frame, frame.popn(it.arg), names)


def _call_two_places(frame: Frame, args: List[Value], names: Tuple[str, ...]) -> None:
    """A call whose function takes two places."""
    function = _function(frame, args)
    _do_call(frame, function, args, names)


def _function(frame: Frame, args: List[Value]) -> Value:
    """The function in two places: one of them is empty, or holds the object of a method, its first argument."""
    first, second = frame.popn(2)
    if first is NULL:
        return second
    if second is not NULL:
        args.insert(0, second)
    return first


def _routine(frame: Frame, it: Instruction) -> Routine:
    """The code of a function that is made; `it.value` tells whether its qualified name lies on it."""
    if it.value:
        frame.pop()
    code = frame.pop()
    if not isinstance(code, Routine):
        raise unfit()
    return code


def _make_function(frame: Frame, it: Instruction) -> None:
    routine = _routine(frame, it)
    if it.arg > 15:
        raise unfit()
    closure = _cells(frame.pop()) if it.arg & 8 else ()
    if it.arg & 4:
        frame.pop()  # annotations say nothing
    keywords = _keyword_defaults(routine, frame.pop()) if it.arg & 2 else {}
    defaults = tuple_of(frame.pop()) if it.arg & 1 else ()
    frame.push(Function(routine, defaults, closure, keywords))


def _keyword_defaults(routine: Routine, value: Value) -> Dict[str, Value]:
    """Defaults of keyword-only parameters."""
    if not isinstance(value, dict) or not set(value) <= set(routine.code.parameters[routine.code.argcount :]):
        raise unfit()
    return cast(Dict[str, Value], dict(value))


def _make_function_counted(frame: Frame, it: Instruction) -> None:
    routine = _routine(frame, it)
    closure = _cells(frame.pop()) if it.op == "MAKE_CLOSURE" else ()
    positional, named = it.arg & 255, it.arg >> 8 & 255
    if it.arg >> 16:
        frame.popn(it.arg >> 16)  # annotations, and the tuple of their names
    if positional and named:
        raise Undecided("it makes a function in an unusual way")
    pairs = frame.popn(2 * named)
    keywords = _keyword_defaults(routine, dict(zip(_keyword_names(frame, pairs[0::2]), pairs[1::2])))
    frame.push(Function(routine, tuple(frame.popn(positional)), closure, keywords))


def _set_function_attribute(frame: Frame, it: Instruction) -> None:
    value, function = frame.popn(2)
    if not isinstance(function, Function):
        raise unfit()
    if it.arg == 8:
        frame.push(replace(function, closure=_cells(value)))
    elif it.arg == 1:
        frame.push(replace(function, defaults=tuple_of(value)))
    elif it.arg == 2:
        frame.push(replace(function, keyword_defaults=_keyword_defaults(function.routine, value)))
    elif it.arg == 4:
        frame.push(function)  # annotations say nothing
    else:
        raise unfit()


def _cells(value: Value) -> Tuple[Cell, ...]:
    cells = tuple(cell for cell in tuple_of(value) if isinstance(cell, Cell))
    if len(cells) != len(tuple_of(value)):
        raise unfit()
    return cells


CALLS: Dict[str, Handler] = {
    "PRECALL": nothing,
    "BEFORE_WITH": _before_with,
    "SETUP_WITH": _setup_with,
    "BEGIN_FINALLY": lambda frame, it: frame.push(None),
    "WITH_CLEANUP_START": _leave_with,
    "WITH_CLEANUP_FINISH": nothing,
    "END_FINALLY": _end_finally,
    "RETURN_VALUE": _return,
    "RETURN_CONST": _return_constant,
    "IMPORT_NAME": _import_name,
    "IMPORT_FROM": _import_from,
    "KW_NAMES": _set_keywords,
    "CALL_FUNCTION": _call_function,
    "CALL_FUNCTION_KW": _call_with_names,
    "CALL_PAIRS": _call_pairs,
    "CALL_PAIRS_AND_MORE": _call_pairs_and_more,
    "CALL_FUNCTION_EX": _call_spread,
    "CALL_METHOD": _call,
    "CALL": _call,
    "CALL_KW": _call_names_on_top,
    "MAKE_FUNCTION": _make_function,
    "MAKE_FUNCTION_COUNTED": _make_function_counted,
    "MAKE_CLOSURE": _make_function_counted,
    "SET_FUNCTION_ATTRIBUTE": _set_function_attribute,
}
