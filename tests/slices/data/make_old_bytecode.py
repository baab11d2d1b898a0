"""Rewrites the functions of `make_bytecode` as Python 3.4 and 3.5 compile them, where neither is at hand.

    python3.6 make_old_bytecode.py bytecode.json

Python 3.6 has the same order of fields in a code object and the same numbers of operations.  What changed with it is
known from "What's New In Python 3.6" and the documentation of `dis` of each version, and is changed back here:

- an operation took one byte, or three with its operand (from number 90 on), in place of two, so jumps move;
- CALL_FUNCTION took keyword arguments as pairs of name and value on the stack, counted in the operand's high byte,
  where 3.6 has CALL_FUNCTION_KW with a tuple of names;
- MAKE_FUNCTION took defaults one by one from the stack, counted in the operand, and MAKE_CLOSURE made closures, where
  3.6 has one MAKE_FUNCTION with flags;
- CALL_FUNCTION_VAR and CALL_FUNCTION_VAR_KW called with `*args` and `**kwargs`, where 3.6 has CALL_FUNCTION_EX;
- a dict with constant keys was built of keys and values (BUILD_CONST_KEY_MAP is new in 3.6); up to 3.4 BUILD_MAP made
  an empty one, and STORE_MAP put one entry into it, its key on top;
- up to 3.4, WITH_CLEANUP did what WITH_CLEANUP_START and WITH_CLEANUP_FINISH do.

Nothing of the package under test is used: numbers are those of Python 3.6's own `opcode`.
"""

import dis
import json
import sys
from types import CodeType

import make_bytecode

# what 3.6 has no more
OLD = {
    "WITH_CLEANUP": 81,
    "MAKE_CLOSURE": 134,
    "STORE_MAP": 54,
    "OLD_BUILD_MAP": 105,
    "CALL_FUNCTION_VAR": 140,
    "CALL_FUNCTION_VAR_KW": 142,
}
# by how much these change the height of the stack, the last two without single arguments
EFFECTS = {"STORE_MAP": -2, "OLD_BUILD_MAP": 1, "CALL_FUNCTION_VAR": -1, "CALL_FUNCTION_VAR_KW": -2}


class Operation:
    def __init__(self, name, arg=None):
        self.name = name
        self.arg = arg


def listing(code):
    """The operations of a 3.6 code object, jumps as references to operations."""
    found = {}
    for it in dis.get_instructions(code):
        if it.opname != "EXTENDED_ARG":
            found[it.offset] = Operation(it.opname, it.arg)
    for it in dis.get_instructions(code):
        if it.opcode in dis.hasjabs or it.opcode in dis.hasjrel:
            found[it.offset].arg = found[it.argval]
    return list(found.values())


def effect(operation):
    if operation.name in EFFECTS:
        return EFFECTS[operation.name]
    if operation.name == "CALL_FUNCTION":
        return -(operation.arg & 255) - 2 * (operation.arg >> 8)
    number = dis.opmap[operation.name]
    return dis.stack_effect(number, operation.arg if number >= dis.HAVE_ARGUMENT else None)


def start_of_value(operations, end):
    """Index of the first of the operations before `end` that leave one value on the stack."""
    depth = 0
    for index in range(end - 1, -1, -1):
        assert not isinstance(operations[index].arg, Operation), "a jump inside an argument"
        depth += effect(operations[index])
        if depth == 1:
            return index
    raise AssertionError("no value")


def starts_of_values(operations, end, count):
    """Where each of so many values begins, the last first, before any of them is moved."""
    found = []
    for _ in range(count):
        end = start_of_value(operations, end)
        found.append(end)
    return found


def put_before(operations, place, added):
    """Inserts an operation where jumps to the one that stands there go to it."""
    there = operations[place]
    operations.insert(place + 1, Operation(there.name, there.arg))
    there.name, there.arg = added.name, added.arg


def spread_map(operations, index):
    """BUILD_MAP as up to 3.4: an empty dict, then value, key and STORE_MAP for each entry; by how much it is longer."""
    size = operations[index].arg
    places = starts_of_values(operations, index, 2 * size)[::-1] + [index]
    made = []
    for key, value, end in zip(places[0::2], places[1::2], places[2::2]):
        made += operations[value:end] + operations[key:value] + [Operation("STORE_MAP")]
    before = places[0]
    first = operations[before]
    operations[before : index + 1] = made
    # jumps to what was first go to the empty dict
    place = operations.index(first)
    put_before(operations, place, Operation("OLD_BUILD_MAP", size))
    operations.insert(before, operations.pop(place))
    return size


def rewrite(code, version):
    """A code object with the operations of an older version."""
    operations = listing(code)
    constants = [rewrite(const, version) if isinstance(const, CodeType) else const for const in code.co_consts]

    def load(value):
        constants.append(value)
        return Operation("LOAD_CONST", len(constants) - 1)

    index = 0
    while index < len(operations):
        operation = operations[index]
        if operation.name == "CALL_FUNCTION_KW":
            names = constants[operations.pop(index - 1).arg]
            index -= 1
            end = index
            for name in reversed(names):
                end = start_of_value(operations, end)
                operations.insert(end, load(name))
                index += 1
            operation.name, operation.arg = "CALL_FUNCTION", operation.arg - len(names) | len(names) << 8
        elif operation.name == "MAKE_FUNCTION":
            flags, operation.arg = operation.arg, 0
            first = index - 2
            if flags & 8:
                operation.name = "MAKE_CLOSURE"
                first = start_of_value(operations, first)
            if flags & 1:
                defaults = constants[operations.pop(first - 1).arg]
                operations[first - 1 : first - 1] = [load(value) for value in defaults]
                index += len(defaults) - 1
                operation.arg = len(defaults)
            assert not flags & 6
        elif operation.name == "CALL_FUNCTION_EX":
            operation.name = "CALL_FUNCTION_VAR_KW" if operation.arg else "CALL_FUNCTION_VAR"
            operation.arg = 0
        elif operation.name == "BUILD_CONST_KEY_MAP":
            keys = constants[operations.pop(index - 1).arg]
            index -= 1
            for key, place in zip(reversed(keys), starts_of_values(operations, index, len(keys))):
                put_before(operations, place, load(key))
                index += 1
            operation.name = "BUILD_MAP"
        if operation.name == "BUILD_MAP" and version == "3.4":
            index += spread_map(operations, index)
        index += 1
    if version == "3.4":
        for operation in [it for it in operations if it.name == "WITH_CLEANUP_FINISH"]:
            operations.remove(operation)
    return CodeType(
        code.co_argcount, code.co_kwonlyargcount, code.co_nlocals, code.co_stacksize + 8, code.co_flags,
        assembled(operations, version), tuple(constants), code.co_names, code.co_varnames, code.co_filename,
        code.co_name, code.co_firstlineno, b"", code.co_freevars, code.co_cellvars,
    )  # fmt: skip


def number_of(operation, version):
    name = "WITH_CLEANUP" if version == "3.4" and operation.name == "WITH_CLEANUP_START" else operation.name
    return OLD[name] if name in OLD else dis.opmap[name]


def assembled(operations, version):
    offsets, position = {}, 0
    for operation in operations:
        offsets[operation] = position
        position += 3 if number_of(operation, version) >= dis.HAVE_ARGUMENT else 1
    found = bytearray()
    for operation in operations:
        number, arg = number_of(operation, version), operation.arg
        found.append(number)
        if number >= dis.HAVE_ARGUMENT:
            if isinstance(arg, Operation):
                relative = number in dis.hasjrel
                arg = offsets[arg] - (offsets[operation] + 3 if relative else 0)
            found += arg.to_bytes(2, "little")
    return bytes(found)


def main(path):
    assert sys.version_info[:2] == (3, 6)
    space = make_bytecode.compiled()
    with open(path) as stream:
        data = json.load(stream)
    for version in ("3.4", "3.5"):
        codes = {name: make_bytecode.code_of(space, name) for name in data["code"]["3.6"]}
        data["code"][version] = {name: make_bytecode.dump(rewrite(code, version)) for name, code in codes.items()}
    with open(path, "w") as stream:
        stream.write(make_bytecode.as_text(data))


if __name__ == "__main__":
    main(sys.argv[1])
