"""Reading code objects of all Python versions as bytes: right, bounded, and never anything but BytecodeError."""

import base64
import binascii
import dis
import json
import opcode
import re
import struct
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unparallel.errors import BytecodeError
from unparallel.slices import interpreter
from unparallel.slices import marshal as marshalled
from unparallel.slices.instructions import decode, readings
from unparallel.slices.marshal import read_bytes, read_text
from unparallel.slices.opcodes import VERSIONS as PYTHONS

HERE = Path(__file__).parent
DATA = json.loads((HERE / "data" / "bytecode.json").read_text())
VERSIONS = sorted(DATA["code"], key=lambda version: tuple(map(int, version.split("."))))
RUNNING = "{}.{}".format(*sys.version_info[:2])
known_here = pytest.mark.skipif(RUNNING not in PYTHONS, reason="no table for the Python that runs this")


def data_of(version, name):
    return binascii.a2b_base64(DATA["code"][version][name])


@pytest.mark.parametrize("version", VERSIONS)
def test_reads_every_function(version):
    for name, text in DATA["code"][version].items():
        readings = read_text(text)
        assert len(readings) == 1
        expected = {"cut_short": "<lambda>", "cut_by_closure": "cut"}.get(name, name)
        assert readings[0].name == expected


@pytest.mark.parametrize("version", VERSIONS)
def test_tells_the_version(version):
    alike = {
        "3.4": {"3.4", "3.5"},
        "3.5": {"3.4", "3.5"},
        "3.6": {"3.6", "3.7"},
        "3.7": {"3.6", "3.7"},
        "3.8": {"3.8", "3.9"},
        "3.9": {"3.8", "3.9"},
    }
    for name, text in DATA["code"][version].items():
        found = readings(read_text(text)[0])
        assert version in found
        # a function that only returns a constant is the same in 3.11 and 3.12
        assert set(found) <= alike.get(version, {version}) or name == "shape_empty"


def test_methods_tell_36_from_37():
    assert list(readings(read_text(DATA["code"]["3.7"]["cut_with_shapes"])[0])) == ["3.7"]


def test_jumps_tell_39_from_310():
    # the operations are the same, but 3.10 counts jumps in another unit
    for version, other in (("3.9", "3.10"), ("3.10", "3.9")):
        code = read_text(DATA["code"][version]["cut_conditions"])[0]
        with pytest.raises(BytecodeError, match=f"not those of Python {re.escape(other)}"):
            decode(code, PYTHONS[other])


@pytest.mark.parametrize("version", ["2.7", "3.6"])
def test_reads_raw_unicode_escape_text(version):
    raw = read_text(DATA["raw"][version])
    assert raw == read_text(DATA["code"][version]["cut_with_shapes"])


def test_reads_base64_with_line_breaks():
    text = DATA["code"]["3.7"]["cut_with_shapes"]
    broken = "\n".join(text[i : i + 76] for i in range(0, len(text), 76)) + "\n"
    assert read_text(broken) == read_text(text)


def test_code_knows_its_variables():
    code = read_text(DATA["code"]["3.11"]["cut_by_closure"])[0]
    assert [code.variables[slot] for slot in code.free] == ["k", "size"]
    assert code.parameters == ("rows",)
    outer = read_text(DATA["code"]["3.6"]["cut_inner_function"])[0]
    assert [inner.name for inner in outer.walk()] == ["cut_inner_function", "piece"]


# -- the tables, against the Python that runs this


@known_here
def test_table_is_that_of_this_python():
    # from 230 on stand operations that only a tracing interpreter puts in place
    here = {number: name for name, number in opcode.opmap.items() if 0 < number < 230}
    table = {number: name for number, name in PYTHONS[RUNNING].operations.items() if number}
    assert table == here


@known_here
def test_decodes_like_dis():
    for name, text in DATA["code"][RUNNING].items():
        code = read_text(text)[0]
        ours = decode(code, PYTHONS[RUNNING])
        theirs = [it for it in dis.get_instructions(_live(code)) if it.opname not in ("EXTENDED_ARG", "CACHE")]
        assert len(ours) == len(theirs), name
        starts = {it.offset: index for index, it in enumerate(theirs)}
        for mine, real in zip(ours, theirs):
            if mine.target >= 0:
                assert mine.target == starts[real.argval]
            elif mine.op in ("LOAD_CONST", "LOAD_GLOBAL", "LOAD_ATTR", "LOAD_METHOD", "IMPORT_NAME"):
                assert mine.value == real.argval or real.opname == "LOAD_CONST"
            elif mine.op in ("LOAD_FAST", "STORE_FAST", "LOAD_DEREF"):
                assert code.variables[mine.value] == real.argval


def _live(code):
    """A code object of the running Python with the same instructions, which nobody calls."""

    def empty():
        pass

    live = empty.__code__
    fields = {"co_code": code.code, "co_names": code.names}
    if hasattr(live, "replace"):
        local = tuple(name for name, kind in zip(code.variables, code.kinds) if kind & marshalled.LOCAL)
        cell = tuple(name for name, kind in zip(code.variables, code.kinds) if kind & marshalled.CELL)
        free = tuple(name for name, kind in zip(code.variables, code.kinds) if kind & marshalled.FREE)
        if any(kind == marshalled.LOCAL | marshalled.CELL for kind in code.kinds):
            local = tuple(name for name, kind in zip(code.variables, code.kinds) if kind & marshalled.LOCAL)
        fields.update(co_varnames=local, co_nlocals=len(local), co_cellvars=cell, co_freevars=free)
        fields["co_consts"] = tuple([None] * len(code.consts))
        return live.replace(**fields)
    return type(live)(
        0, 0, code.nlocals, 9, 3, code.code, (None,) * len(code.consts), code.names, code.variables[: code.nlocals],
        "", "", 1, b"", tuple(code.variables[slot] for slot in code.free),
        tuple(name for name, kind in zip(code.variables, code.kinds) if kind == marshalled.CELL),
    )  # fmt: skip


def test_every_handler_is_an_operation():
    known = {"JUMP", "BINARY", "INPLACE", "CALL_PAIRS", "CALL_PAIRS_AND_MORE", "MAKE_FUNCTION_COUNTED"}
    for python in PYTHONS.values():
        known.update(python.operations.values())
    assert set(interpreter.HANDLERS) <= known


# -- malformed input


def parts(*values):
    return b"".join(values)


def long(number):
    return struct.pack("<i", number)


def test_every_truncation_is_refused():
    for version in ("2.7", "3.6", "3.8", "3.13"):
        data = data_of(version, "cut_with_zeros")
        for end in range(len(data)):
            with pytest.raises(BytecodeError):
                read_bytes(data[:end])


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "no code object"),
        (b"N", "no code object"),
        (b"c" + long(1), "cut short"),
        (b"\xe3" + b"\xff" * 60, "not what it should be"),
    ],
)
def test_refuses_what_is_no_code(data, message):
    with pytest.raises(BytecodeError, match=message):
        read_bytes(data)


def test_refuses_bytes_after_the_code():
    with pytest.raises(BytecodeError, match="after the code"):
        read_bytes(data_of("3.7", "cut_by_shares") + b"N")


@pytest.mark.parametrize("text", ["", "hello", "é" * 40, "\ud800", "====", None, 3])
def test_refuses_text_that_is_no_code(text):
    with pytest.raises(BytecodeError):
        read_text(text)


def with_constants(constants):
    """A function of Python 3.7 with other constants."""
    head = b"\xe3" + long(0) * 2 + long(0) + long(1) + long(67)
    code = b"s" + long(4) + bytes([100, 0, 83, 0])
    empty = b")\0"
    return head + code + constants + empty * 4 + b"z\1a" + b"z\1b" + long(1) + b"s" + long(0)


def test_constants_of_all_kinds():
    values = [
        b"N", b"T", b"F", b".", b"S", b"i" + long(-3), b"I" + struct.pack("<q", 1 << 40),
        b"l" + long(-2) + struct.pack("<HH", 5, 1), b"l" + long(100) + b"\1\0" * 100, b"g" + struct.pack("<d", 1.5),
        b"f\x031.5", b"y" + b"\0" * 16, b"x\x011\x012", b"s" + long(1) + b"\xff", b"u" + long(2) + b"\xc3\xa9",
        b"t" + long(1) + b"a", b"a" + long(1) + b"a", b"A" + long(1) + b"a", b"z\1a", b"Z\1a", b"(" + long(1) + b"N",
        b")\1N", b"[" + long(1) + b"N", b"<" + long(1) + b"N", b">" + long(1) + b"N", b"{NN0",
    ]  # fmt: skip
    code = read_bytes(with_constants(b")" + bytes([len(values)]) + b"".join(values)))[0]
    assert code.consts[:4] == (None, True, False, Ellipsis)
    assert code.consts[5:8] == (-3, 1 << 40, -(5 + (1 << 15)))
    assert code.consts[8] == marshalled.Other("long")
    assert code.consts[9:11] == (1.5, 1.5)
    assert code.consts[13:20] == (b"\xff", "é", "a", "a", "a", "a", "a")
    assert code.consts[20:22] == ((None,), (None,))


@pytest.mark.parametrize(
    ("constants", "message"),
    [
        (b"(" + long(1 << 30) + b"N" * 9, "cut short"),
        (b"(" + long(-1), "cut short"),
        (b")\1s" + long(1 << 30), "cut short"),
        (b")\1?", "unknown kind"),
        (b")\1r" + long(7), "does not hold"),
        (b")\1R" + long(0), "does not hold"),
        (b")\1f\x03abc", "number that is none"),
        (b")\1u" + long(1) + b"\xff", "text that is none"),
        (b"N", "consts is not what it should be"),
        # a tuple that holds itself
        (b"\xa9\1r" + long(1), "does not hold"),
        (b")\1" * 100 + b"N", "deeper than"),
    ],
)
def test_refuses_bad_constants(constants, message):
    with pytest.raises(BytecodeError, match=message):
        read_bytes(with_constants(constants))


def nested_references(levels, times):
    """Tuples that each hold the one before so many times: small in the file, huge when spelled out."""
    rows = [b"\xa9\1N"]
    for level in range(levels):
        # reference 0 is the code object, 1 the tuple of all
        rows.append(b"\xa9" + bytes([times]) + (b"r" + long(level + 2)) * times)
    return with_constants(b"\xa9" + bytes([len(rows)]) + b"".join(rows))


def test_references_count_with_all_that_they_hold():
    assert read_bytes(nested_references(5, 2))
    with pytest.raises(BytecodeError, match="more than 20000 objects"):
        read_bytes(nested_references(18, 200))


def test_references_count_with_their_depth():
    with pytest.raises(BytecodeError, match="deeper than 24 levels"):
        read_bytes(nested_references(60, 1))


def test_refuses_what_is_too_large():
    with pytest.raises(BytecodeError, match="larger than"):
        read_bytes(b"c" + b"\0" * marshalled.MAX_BYTES)
    with pytest.raises(BytecodeError, match="longer than"):
        read_text("A" * (marshalled.MAX_TEXT + 1))
    with pytest.raises(BytecodeError, match="more than 20000 objects"):
        read_bytes(with_constants(b"(" + long(30000) + b"N" * 30000))


def test_error_has_a_hint():
    with pytest.raises(BytecodeError) as caught:
        read_bytes(b"c")
    assert caught.value.hint


# -- damaged instructions


def with_instructions(version, instructions):
    code = read_text(DATA["code"][version]["shape_empty"])[0]
    return code.__class__(**dict(code.__dict__, code=bytes(instructions)))


@pytest.mark.parametrize(
    ("version", "instructions"),
    [
        ("3.7", []),
        ("3.7", [100]),
        ("3.7", [100, 0]),  # does not end
        ("3.7", [7, 0, 83, 0]),  # no such operation
        ("3.7", [100, 200, 83, 0]),  # no such constant
        ("3.7", [124, 9, 83, 0]),  # no such variable
        ("3.7", [106, 9, 83, 0]),  # no such name
        ("3.7", [113, 3, 83, 0]),  # jumps between instructions
        ("3.7", [113, 90, 83, 0]),  # jumps away
        ("3.7", [144, 1]),  # nothing to extend
        ("3.7", [144, 255] * 9 + [83, 0]),
        ("2.7", [100, 0]),
        ("2.7", [100, 0, 0]),
        ("3.11", [151, 0, 116, 0, 0, 0, 0, 0, 83, 0]),  # too few empty instructions
        ("3.11", [151, 0, 0, 0, 83, 0]),  # empty instructions out of place
        ("3.13", [45, 99, 0, 0, 36, 0]),  # no such arithmetic
    ],
)
def test_refuses_bad_instructions(version, instructions):
    with pytest.raises(BytecodeError, match="not those of Python"):
        decode(with_instructions(version, instructions), PYTHONS[version])


def test_extended_operands():
    code = with_instructions("3.7", [144, 1] + [110, 0] + [9, 0] * 128 + [100, 0, 83, 0])
    assert decode(code, PYTHONS["3.7"])[0].target == 129


# -- fuzzing

SAMPLES = [data_of(version, name) for version in VERSIONS for name in ("cut_with_shapes", "cut_comprehension")]


@given(
    st.sampled_from(SAMPLES),
    st.lists(st.tuples(st.integers(0, 2000), st.integers(0, 255)), min_size=1, max_size=6),
    st.integers(0, 3),
)
def test_mutated_bytes_read_or_are_refused(data, changes, cut):
    mutated = bytearray(data)
    for place, value in changes:
        mutated[place % len(mutated)] = value
    mutated = bytes(mutated[: len(mutated) - cut])
    try:
        codes = read_text(base64.b64encode(mutated).decode("ascii"))
    except BytecodeError:
        return
    for code in codes:
        assert all(version in PYTHONS for version in readings(code))


@given(st.binary(max_size=200))
def test_random_bytes_are_refused(data):
    for start in (b"c", b"\xe3", b""):
        with pytest.raises(BytecodeError):
            read_bytes(start + data)


@given(st.text(max_size=100))
def test_random_text_is_refused(text):
    with pytest.raises(BytecodeError):
        read_text(text)


def test_nothing_here_can_load_code():
    for module in Path(marshalled.__file__).parent.glob("*.py"):
        source = module.read_text()
        imports = re.findall(r"^(?:from|import) +(\S+)", source, re.MULTILINE)
        own = {".errors", ".model"} | {path.stem for path in Path(marshalled.__file__).parent.glob("*.py")}
        assert {name for name in imports if not name.startswith(".")} <= {
            "binascii",
            "dataclasses",
            "functools",
            "operator",
            "struct",
            "typing",
        }
        assert {name[1:] for name in imports if name.startswith(".") and len(name) > 1} <= own
        assert not re.search(r"\b(eval|exec|compile|__import__|getattr)\(", source)
