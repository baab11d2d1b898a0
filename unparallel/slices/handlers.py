"""What the operations on variables, arithmetic, lists, dicts, conditions and loops do to a frame."""

from typing import Dict, List, Sequence, Tuple

from .containers import Bound, contains, key_of, look_up, method_of
from .frame import NULL, TEXT, UNSET, Block, Cell, Frame, Generator, Handler, Iteration, Value
from .instructions import NO_NULL, NULL_ABOVE, Instruction, unfit
from .marshal import Constants
from .sizes import Undecided


def _pop(frame: Frame, it: Instruction) -> None:
    frame.pop()


def _load_constant(frame: Frame, it: Instruction) -> None:
    # a tuple that is made anew each time would have taken as many steps
    frame.machine.spend(len(it.value) if isinstance(it.value, tuple) else 0)
    frame.push(it.value)


def push_function(frame: Frame, value: Value, null: int) -> None:
    """Pushes what is called next, since 3.11 with the empty place beside it."""
    frame.stack += [value] if null == NO_NULL else [value, NULL] if null == NULL_ABOVE else [NULL, value]


def _load_global(frame: Frame, it: Instruction) -> None:
    push_function(frame, frame.domain.global_name(it.name), it.arg)


def _load_attr(frame: Frame, it: Instruction) -> None:
    push_function(frame, attribute(frame, it.name), it.arg)


def attribute(frame: Frame, name: str) -> Value:
    """`value.name` of the value on top; a method of a list or dict is Python's own."""
    value = frame.pop()
    if method_of(value, name) is not None:
        return Bound(value, name)
    return frame.domain.attribute(value, name)


def _load_method(frame: Frame, it: Instruction) -> None:
    # a method is kept whole, so that the place for its object stays empty
    frame.stack += [NULL, attribute(frame, it.name)]


def _load_cell(frame: Frame, it: Instruction) -> None:
    value = frame.cell(it.slot).value
    if value is UNSET:
        raise Undecided("it reads a variable before it is set")
    frame.push(value)


def _load_and_clear(frame: Frame, it: Instruction) -> None:
    frame.push(frame.slots[it.slot])
    frame.slots[it.slot] = UNSET


def _load_two(frame: Frame, it: Instruction) -> None:
    frame.stack += [frame.load(slot) for slot in it.slots]


def _store(frame: Frame, it: Instruction) -> None:
    frame.slots[it.slot] = frame.pop()


def _store_and_load(frame: Frame, it: Instruction) -> None:
    frame.slots[it.slots[0]] = frame.pop()
    frame.push(frame.load(it.slots[1]))


def _store_two(frame: Frame, it: Instruction) -> None:
    for slot in it.slots:
        frame.slots[slot] = frame.pop()


def _store_cell(frame: Frame, it: Instruction) -> None:
    cell = frame.cell(it.slot)
    if cell.given or frame.machine.reading and it.slot in frame.routine.code.free:
        raise Undecided("it changes a variable that outlives the call")
    cell.value = frame.pop()


def _make_cell(frame: Frame, it: Instruction) -> None:
    frame.slots[it.slot] = Cell(frame.slots[it.slot])


def _rotate(count: int) -> Handler:
    """The top value goes down to the place so many from the top; 0: as many as the operand says."""

    def handle(frame: Frame, it: Instruction) -> None:
        group = frame.popn(count or it.arg)
        frame.stack += group[-1:] + group[:-1]

    return handle


def _duplicate(count: int) -> Handler:
    def handle(frame: Frame, it: Instruction) -> None:
        group = frame.popn(count or it.arg)
        frame.stack += group + group

    return handle


def _swap(frame: Frame, it: Instruction) -> None:
    value = frame.peek(it.arg)
    frame.stack[-it.arg], frame.stack[-1] = frame.stack[-1], value


def _binary(frame: Frame, it: Instruction) -> None:
    left, right = frame.popn(2)
    if isinstance(left, Cell) or isinstance(right, Cell) or NULL in (left, right):
        raise unfit()
    if it.op == "INPLACE" and isinstance(left, list):
        frame.push(_extended(frame, it.name, left, right))
        return
    result = frame.domain.binary(it.name, left, right)
    frame.machine.spend(frame.domain.cost(result))
    frame.push(result)


def _extended(frame: Frame, symbol: str, items: List[Value], added: Value) -> List[Value]:
    """A list that was changed in place."""
    frame.may_change(items)
    if symbol != "+":
        raise Undecided("it changes a list in place")
    more = frame.iterate(added)
    frame.machine.spend(len(more))
    items.extend(more)
    return items


def _compare(symbols: Sequence[str] = ()) -> Handler:
    def handle(frame: Frame, it: Instruction) -> None:
        left, right = frame.popn(2)
        symbol = symbols[it.arg & 1] if symbols else it.name
        found = contains(right, left, frame.machine.spend) if symbol in ("in", "not in") else None
        frame.push(frame.domain.compare(symbol, left, right) if found is None else found is (symbol == "in"))

    return handle


def _unary(symbol: str) -> Handler:
    def handle(frame: Frame, it: Instruction) -> None:
        frame.push(frame.domain.unary(symbol, frame.pop()))

    return handle


def _subscript(frame: Frame, it: Instruction) -> None:
    value, index = frame.popn(2)
    _push_part(frame, value, index)


def _push_part(frame: Frame, value: Value, index: Value) -> None:
    if isinstance(value, dict):
        frame.push(look_up(value, index))
        return
    result = frame.domain.subscript(value, index)
    frame.machine.spend(frame.domain.cost(result))
    frame.push(result)


def _subscript_slice(has_start: bool, has_stop: bool) -> Handler:
    def handle(frame: Frame, it: Instruction) -> None:
        stop = frame.pop() if has_stop else None
        start = frame.pop() if has_start else None
        _push_part(frame, frame.pop(), slice(start, stop))

    return handle


def _build_tuple(frame: Frame, it: Instruction) -> None:
    frame.push(tuple(frame.popn(it.arg)))


def _build_list(frame: Frame, it: Instruction) -> None:
    frame.push(frame.popn(it.arg))


def _unpacked(frame: Frame, it: Instruction) -> List[Value]:
    """The items of so many lists, up to 3.8."""
    found: List[Value] = []
    for value in frame.popn(it.arg):
        found.extend(frame.iterate(value))
    frame.machine.spend(len(found))
    return found


def _build_slice(frame: Frame, it: Instruction) -> None:
    if it.arg not in (2, 3):
        raise unfit()
    frame.push(slice(*frame.popn(it.arg)))


def _extend(frame: Frame, it: Instruction) -> None:
    added = frame.iterate(frame.pop())
    frame.machine.spend(len(added))
    frame.list_at(it.arg).extend(added)


def _append(frame: Frame, it: Instruction) -> None:
    value = frame.pop()
    frame.list_at(it.arg).append(value)


def _to_tuple(frame: Frame, it: Instruction) -> None:
    value = frame.pop()
    if not isinstance(value, list):
        raise Undecided("it makes a tuple of something other than a list")
    frame.push(tuple(value))


def _intrinsic(frame: Frame, it: Instruction) -> None:
    if it.arg == 6:
        _to_tuple(frame, it)
    elif it.arg == 5:
        frame.push(frame.domain.unary("+", frame.pop()))
    else:
        raise Undecided("it uses an operation of the interpreter")


def _unpack(frame: Frame, it: Instruction) -> None:
    items = frame.iterate(frame.pop())
    if len(items) != it.arg:
        raise Undecided("it unpacks a list of another length")
    frame.stack += reversed(items)


def _unpack_rest(frame: Frame, it: Instruction) -> None:
    # the low byte counts the names before the one with a star, the next byte those behind it
    before, behind = it.arg & 255, it.arg >> 8
    items = list(frame.iterate(frame.pop()))
    frame.machine.spend(len(items))
    if len(items) < before + behind:
        raise Undecided("it unpacks a list of another length")
    end = len(items) - behind
    frame.stack += reversed([*items[:before], items[before:end], *items[end:]])


# -- dicts and sets


def _build_map(frame: Frame, it: Instruction) -> None:
    found: Dict[object, Value] = {}
    pairs = frame.popn(2 * it.arg)
    for key, value in zip(pairs[0::2], pairs[1::2]):
        found[key_of(key)] = value
    frame.push(found)


def _build_const_key_map(frame: Frame, it: Instruction) -> None:
    keys = tuple_of(frame.pop())
    if len(keys) != it.arg:
        raise unfit()
    frame.machine.spend(len(keys))
    frame.push({key_of(key): value for key, value in zip(keys, frame.popn(it.arg))})


def _store_map(frame: Frame, it: Instruction) -> None:
    # before 3.5: the key lies on top
    value, key = frame.popn(2)
    frame.dict_at(1)[key_of(key)] = value


def _map_add(frame: Frame, it: Instruction) -> None:
    # up to 3.7 the key lies on top, since then the value
    first, second = frame.popn(2)
    key, value = (second, first) if it.value else (first, second)
    frame.dict_at(it.arg)[key_of(key)] = value


def merge(frame: Frame, found: Dict[object, Value], added: Value, once: bool) -> None:
    """Adds the entries of a dict to another; `once` where a key may not come twice."""
    if not isinstance(added, dict):
        raise Undecided("it adds something other than a dict to a dict")
    frame.machine.spend(len(added))
    if once and any(key in found or not isinstance(key, str) for key in added):
        raise Undecided("it gives an argument twice")
    found.update(added)


def _merge_maps(once: bool) -> Handler:
    """One dict of so many, up to 3.8."""

    def handle(frame: Frame, it: Instruction) -> None:
        found: Dict[object, Value] = {}
        for added in frame.popn(it.arg):
            merge(frame, found, added, once)
        frame.push(found)

    return handle


def _merge_into(once: bool) -> Handler:
    def handle(frame: Frame, it: Instruction) -> None:
        added = frame.pop()
        merge(frame, frame.dict_at(it.arg), added, once)

    return handle


def _build_set(frame: Frame, it: Instruction) -> None:
    frame.push(Constants(tuple([key_of(item) for item in frame.popn(it.arg)])))


def _store_item(frame: Frame, it: Instruction) -> None:
    value, owner, index = frame.popn(3)
    frame.may_change(owner)
    if isinstance(owner, dict):
        owner[key_of(index)] = value
    elif isinstance(owner, list) and isinstance(index, int) and -len(owner) <= index < len(owner):
        owner[index] = value
    else:
        raise Undecided("it changes a list in an unknown way")


def _yield(frame: Frame, it: Instruction) -> None:
    frame.yielded.append(frame.pop())
    frame.push(None)  # what the reader sends


def _make_text(count: int) -> Handler:
    """Text, which nobody reads, of so many values; 0: of as many as the operand says."""

    def handle(frame: Frame, it: Instruction) -> None:
        frame.popn(count or it.arg)
        frame.push(TEXT)

    return handle


def _format_value(frame: Frame, it: Instruction) -> None:
    # 3.6 to 3.12: a flag tells whether a format lies on the value
    frame.popn(2 if it.arg & 4 else 1)
    frame.push(TEXT)


def _pop_jump(when: bool) -> Handler:
    def handle(frame: Frame, it: Instruction) -> None:
        if frame.jumps(frame.pop(), when, it):
            frame.index = it.target

    return handle


def _pop_jump_none(when: bool) -> Handler:
    def handle(frame: Frame, it: Instruction) -> None:
        if frame.jumps(frame.domain.compare("is", frame.pop(), None), when, it):
            frame.index = it.target

    return handle


def _jump_or_pop(when: bool) -> Handler:
    def handle(frame: Frame, it: Instruction) -> None:
        if frame.truth(frame.peek(1)) is when:
            frame.index = it.target
        else:
            frame.pop()

    return handle


def _jump(frame: Frame, it: Instruction) -> None:
    frame.index = it.target


def _iterate(frame: Frame, it: Instruction) -> None:
    value = frame.pop()
    if isinstance(value, Generator):
        # what the loop does could change what is read next
        raise Undecided("it loops over a generator")
    frame.push(value if isinstance(value, Iteration) else Iteration(frame.iterate(value)))


def _to_bool(frame: Frame, it: Instruction) -> None:
    following = frame.routine.instructions[frame.index : frame.index + 1]
    # the jump asks for itself
    if not following or following[0].op not in ("POP_JUMP_IF_TRUE", "POP_JUMP_IF_FALSE"):
        frame.push(frame.truth(frame.pop()))


def _next(frame: Frame, it: Instruction) -> None:
    iteration = frame.peek(1)
    if not isinstance(iteration, Iteration):
        raise unfit()
    if iteration.position < len(iteration.items):
        frame.push(iteration.items[iteration.position])
        iteration.position += 1
    else:
        frame.pop()
        frame.index = it.target + it.arg


def _setup_loop(frame: Frame, it: Instruction) -> None:
    frame.blocks.append(Block(it.target, len(frame.stack), False))


def _pop_block(frame: Frame, it: Instruction) -> None:
    if not frame.blocks:
        raise unfit()
    block = frame.blocks.pop()
    if it.arg:
        del frame.stack[block.height :]


def _break_loop(frame: Frame, it: Instruction) -> None:
    if not frame.blocks:
        raise unfit()
    if frame.blocks[-1].manager:
        raise Undecided("it leaves a loop and a block at once")
    block = frame.blocks.pop()
    frame.index = block.end
    del frame.stack[block.height :]


def _continue_loop(frame: Frame, it: Instruction) -> None:
    if not frame.blocks or frame.blocks[-1].manager:
        raise Undecided("it goes on with a loop from within a block")
    frame.index = it.target


def nothing(frame: Frame, it: Instruction) -> None:
    """No meaning for values."""


def tuple_of(value: Value) -> Tuple[Value, ...]:
    """A tuple that the compiler itself has built."""
    if not isinstance(value, tuple):
        raise unfit()
    return value


HANDLERS: Dict[str, Handler] = {
    "NOP": nothing,
    "RESUME": nothing,
    "COPY_FREE_VARS": nothing,
    "POP_TOP": _pop,
    "PUSH_NULL": lambda frame, it: frame.push(NULL),
    "LOAD_CONST": _load_constant,
    "LOAD_FAST": lambda frame, it: frame.push(frame.load(it.slot)),
    "LOAD_FAST_AND_CLEAR": _load_and_clear,
    "LOAD_FAST_LOAD_FAST": _load_two,
    "STORE_FAST": _store,
    "DELETE_FAST": lambda frame, it: frame.clear(it.slot),
    "STORE_FAST_LOAD_FAST": _store_and_load,
    "STORE_FAST_STORE_FAST": _store_two,
    "LOAD_DEREF": _load_cell,
    "STORE_DEREF": _store_cell,
    "LOAD_CLOSURE": lambda frame, it: frame.push(frame.cell(it.slot)),
    "MAKE_CELL": _make_cell,
    "LOAD_GLOBAL": _load_global,
    "LOAD_ATTR": _load_attr,
    "LOAD_METHOD": _load_method,
    "ROT_TWO": _rotate(2),
    "ROT_THREE": _rotate(3),
    "ROT_FOUR": _rotate(4),
    "ROT_N": _rotate(0),
    "DUP_TOP": _duplicate(1),
    "DUP_TOP_TWO": _duplicate(2),
    "DUP_TOPX": _duplicate(0),
    "COPY": lambda frame, it: frame.push(frame.peek(it.arg)),
    "SWAP": _swap,
    "BINARY": _binary,
    "INPLACE": _binary,
    "UNARY_NEGATIVE": _unary("-"),
    "UNARY_POSITIVE": _unary("+"),
    "UNARY_INVERT": _unary("~"),
    "UNARY_NOT": lambda frame, it: frame.push(not frame.truth(frame.pop())),
    "TO_BOOL": _to_bool,
    "COMPARE_OP": _compare(),
    "IS_OP": _compare(("is", "is not")),
    "CONTAINS_OP": _compare(("in", "not in")),
    "BINARY_SUBSCR": _subscript,
    "BINARY_SLICE": _subscript_slice(True, True),
    "SLICE+0": _subscript_slice(False, False),
    "SLICE+1": _subscript_slice(True, False),
    "SLICE+2": _subscript_slice(False, True),
    "SLICE+3": _subscript_slice(True, True),
    "BUILD_TUPLE": _build_tuple,
    "BUILD_LIST": _build_list,
    "BUILD_MAP": _build_map,
    "BUILD_CONST_KEY_MAP": _build_const_key_map,
    "STORE_MAP": _store_map,
    "MAP_ADD": _map_add,
    "BUILD_MAP_UNPACK": _merge_maps(False),
    "BUILD_MAP_UNPACK_WITH_CALL": _merge_maps(True),
    "DICT_UPDATE": _merge_into(False),
    "DICT_MERGE": _merge_into(True),
    "BUILD_SET": _build_set,
    "STORE_SUBSCR": _store_item,
    "BUILD_TUPLE_UNPACK": lambda frame, it: frame.push(tuple(_unpacked(frame, it))),
    "BUILD_LIST_UNPACK": lambda frame, it: frame.push(_unpacked(frame, it)),
    "BUILD_STRING": _make_text(0),
    "FORMAT_VALUE": _format_value,
    "FORMAT_SIMPLE": _make_text(1),
    "FORMAT_WITH_SPEC": _make_text(2),
    "CONVERT_VALUE": _make_text(1),
    "PRINT_ITEM": _pop,
    "PRINT_NEWLINE": nothing,
    "BUILD_SLICE": _build_slice,
    "LIST_EXTEND": _extend,
    "LIST_APPEND": _append,
    "LIST_TO_TUPLE": _to_tuple,
    "CALL_INTRINSIC_1": _intrinsic,
    "UNPACK_SEQUENCE": _unpack,
    "UNPACK_EX": _unpack_rest,
    "GEN_START": nothing,
    "RETURN_GENERATOR": lambda frame, it: frame.push(None),
    "YIELD_VALUE": _yield,
    "JUMP": _jump,
    "POP_JUMP_IF_TRUE": _pop_jump(True),
    "POP_JUMP_IF_FALSE": _pop_jump(False),
    "POP_JUMP_IF_NONE": _pop_jump_none(True),
    "POP_JUMP_IF_NOT_NONE": _pop_jump_none(False),
    "JUMP_IF_TRUE_OR_POP": _jump_or_pop(True),
    "JUMP_IF_FALSE_OR_POP": _jump_or_pop(False),
    "GET_ITER": _iterate,
    "FOR_ITER": _next,
    "SETUP_LOOP": _setup_loop,
    "POP_BLOCK": _pop_block,
    "BREAK_LOOP": _break_loop,
    "CONTINUE_LOOP": _continue_loop,
}
