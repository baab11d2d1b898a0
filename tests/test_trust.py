"""Files of strangers: their code never runs, other files' bytes never come in, and their claims cost little."""

import base64
import json
import marshal
import os
import re
import struct
import sys
import types
import zlib

import h5py
import numpy as np
import pytest

import unparallel
from unparallel import hdf5, keras_config
from unparallel.cli import main
from unparallel.errors import FileError, HostileFileError, UnparallelError

from . import tiny
from .processes import ROOT, run

FIXTURES = os.path.join(ROOT, "fixtures")
DATA = os.path.join(ROOT, "tests", "slices", "data", "bytecode.json")


@pytest.fixture
def template():
    layers = (tiny.entry("x", 3), tiny.dense("first", "x"), tiny.batchnorm("middle", "first"))
    return tiny.TinyModel("net", layers, ("x",), ("middle",))


@pytest.fixture
def source(tmp_path, template):
    slots = [("training/Adam/Variable:0", np.arange(6.0).reshape(2, 3))]
    settings = {"optimizer_config": {"class_name": "Adam", "config": {}}, "loss": "mse"}
    return tiny.save(tmp_path / "parallel.h5", tiny.parallel(template, 2), settings, slots)


def refused(source, tmp_path, says, kind=HostileFileError):
    """Both inspection and conversion refuse, with that message, and nothing is written."""
    for options in ({}, {"verify": False, "scan": False}):
        with pytest.raises(kind, match=says):
            unparallel.convert(source, tmp_path / "clean.h5", **options)
    with pytest.raises(kind, match=says):
        unparallel.inspect(source)
    assert [name for name in os.listdir(str(tmp_path)) if "clean" in name] == []


# -- no code runs ----------------------------------------------------------------------------------------


def lambda_layer(name, before, function, **more):
    config = {"name": name, "function": function, "function_type": "lambda", "arguments": {}}
    return tiny.TinyLayer(name, "Lambda", dict(config, **more), ((before,),))


def leaves_a_mark(mark):
    """A function, as Keras dumps it, that makes a file when it runs."""
    spaces = {}
    exec(f"def evil(x, part=0, total=2): open({mark!r}, 'w').close()", spaces)
    return [base64.encodebytes(marshal.dumps(spaces["evil"].__code__)).decode("ascii"), None, None]


def hostile_functions(mark):
    with open(DATA, encoding="utf-8") as handle:
        saved = json.load(handle)["code"]
    codes = [[next(iter(saved[version].values())), None, None] for version in ("2.7", "3.13")]
    broken = [["not base64 \x00 \ud800", None, None], ["4wAAAAA", None, None], [None], "f", 7]
    return codes + [leaves_a_mark(mark)] + broken


# what a hostile config names for a loader to look up
LURES = {"module": "antigravity", "registered_name": "os>system", "class_name": "this"}


def hostile_files(folder, mark):
    """Parallel models that hold hostile functions in a slice, in the template, and in a layer inside a layer."""
    for number, function in enumerate(hostile_functions(mark)):
        wrapped = {"class_name": "Lambda", "config": {"name": "inner", "function": function, "function_type": "lambda"}}
        layers = (
            tiny.entry("x", 3),
            lambda_layer("crop", "x", function, output_shape=function, output_shape_type="lambda", **LURES),
            tiny.TinyLayer("each", "TimeDistributed", {"name": "each", "layer": wrapped}, (("crop",),)),
            tiny.TinyLayer("lured", "this.that", dict(LURES, name="lured"), (("each",),)),
            tiny.dense("last", "lured"),
        )
        model = tiny.parallel(tiny.TinyModel("net", layers, ("x",), ("last",)), 2)
        yield tiny.save(folder / (f"template{number}.h5"), model)
        pieces = [
            layer._replace(config=dict(layer.config, function=function, output_shape=function))
            if layer.name.startswith("lambda")
            else layer
            for layer in model.layers
        ]
        yield tiny.save(folder / (f"slices{number}.h5"), model._replace(layers=tuple(pieces)))


WATCHED = """
import builtins, importlib, json, marshal, os, pickle, sys
sys.path.insert(0, %(root)r)
import unparallel
target = %(target)r
files = json.loads(%(files)r)

def work(path):
    for options in ({}, {"trust_slices": True}):
        try:
            unparallel.convert(path, target, overwrite=True, **options)
        except unparallel.UnparallelError:
            pass
    unparallel.inspect(path, trust_slices=True)

work(%(good)r)      # imports whatever is imported late
seen = []
FORBIDDEN = ("marshal.loads", "marshal.load", "pickle.find_class", "exec", "compile", "import", "ctypes.dlopen",
             "os.system", "subprocess.Popen", "socket.connect", "code.__new__", "function.__new__")
if hasattr(sys, "addaudithook"):
    sys.addaudithook(lambda event, values: seen.append((event, values)) if event in FORBIDDEN else None)

def watched(name, real):
    def call(*args, **kwargs):
        seen.append((name, args))
        return real(*args, **kwargs)
    return call

for module, names in ((marshal, ["loads", "load"]), (pickle, ["loads", "load"]), (importlib, ["import_module"]),
                      (builtins, ["eval", "exec", "compile"])):
    for name in names:
        setattr(module, name, watched(name, getattr(module, name)))
known = set(sys.modules)
for path in files:
    work(path)
assert not seen, seen[:3]
assert set(sys.modules) == known, set(sys.modules) - known
print("looked at", len(files))
"""


def test_no_code_runs(tmp_path, source):
    mark = str(tmp_path / "mark")
    files = list(hostile_files(tmp_path, mark))
    values = {"root": ROOT, "good": source, "files": json.dumps(files), "target": str(tmp_path / "clean.h5")}
    ran = run(code=WATCHED % values)
    assert (ran.code, ran.err, ran.out.strip()) == (0, "", f"looked at {len(files)}")
    assert not os.path.exists(mark)


def test_the_mark_would_be_seen(tmp_path):
    mark = str(tmp_path / "mark")
    code = marshal.loads(base64.decodebytes(leaves_a_mark(mark)[0].encode("ascii")))
    types.FunctionType(code, {"open": open})(1, 2, 3)
    assert os.path.exists(mark)


def test_code_of_the_template_is_kept_and_listed(tmp_path):
    with open(DATA, encoding="utf-8") as handle:
        function = [json.load(handle)["code"]["3.6"]["cut_drops_tail"], None, None]
    inner = tiny.TinyModel("deep", (tiny.entry("y", 3), lambda_layer("scale", "y", function)), ("y",), ("scale",))
    wrapped = {"class_name": "Lambda", "config": {"name": "in", "function": function, "function_type": "lambda"}}
    layers = (
        tiny.entry("x", 3),
        lambda_layer("crop", "x", function),
        tiny.nested("deep", "crop", inner),
        tiny.TinyLayer("each", "TimeDistributed", {"name": "each", "layer": wrapped}, (("deep",),)),
        lambda_layer("broken", "each", ["%%%", None, None]),
        tiny.dense("last", "broken"),
    )
    template = tiny.TinyModel("net", layers, ("x",), ("last",))
    source = tiny.save(tmp_path / "parallel.h5", tiny.parallel(template, 2))
    done = unparallel.convert(source, tmp_path / "clean.h5")
    known = "layer %r holds Python code of version %s; loading the file runs it"
    versions = [(name, "3.6 to 3.7") for name in ("crop", "scale", "each")] + [("broken", "unknown")]
    assert list(done.notes) == [known % pair for pair in versions]
    assert unparallel.inspect(source).notes == done.notes


# -- no foreign bytes ------------------------------------------------------------------------------------


def secret(tmp_path):
    path = tmp_path / "secret"
    path.write_bytes(b"TOP-SECRET--" * 3)
    return str(path)


def external_storage(handle, tmp_path):
    del handle["model_weights/net/first/kernel:0"]
    plist = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    plist.set_external(secret(tmp_path).encode(), 0, 36)
    space = h5py.h5s.create_simple((3, 3))
    h5py.h5d.create(handle["model_weights/net/first"].id, b"kernel:0", h5py.h5t.IEEE_F32LE, space, plist)


def virtual(handle, tmp_path):
    del handle["model_weights/net/first/kernel:0"]
    layout = h5py.VirtualLayout((3, 3), "f4")
    layout[:] = h5py.VirtualSource(secret(tmp_path), "w", (3, 3))
    handle.create_virtual_dataset("model_weights/net/first/kernel:0", layout)


def external_link(handle, tmp_path):
    del handle["model_weights/net/first/kernel:0"]
    handle["model_weights/net/first/kernel:0"] = h5py.ExternalLink(secret(tmp_path), "/w")


def soft_link_in_optimizer(handle, tmp_path):
    handle["optimizer_weights/more"] = h5py.SoftLink("/model_weights/net")


def soft_link_for_a_layer(handle, tmp_path):
    handle.move("model_weights/net", "elsewhere")
    handle["model_weights/net"] = h5py.SoftLink("/elsewhere")


def reference_attribute(handle, tmp_path):
    handle["optimizer_weights"].attrs.create("who", handle.ref, dtype=h5py.special_dtype(ref=h5py.Reference))


def region_attribute(handle, tmp_path):
    array = handle["model_weights/net/first/kernel:0"]
    array.attrs.create("who", array.regionref[:1], dtype=h5py.special_dtype(ref=h5py.RegionReference))


def sequence_attribute(handle, tmp_path):
    kind = h5py.special_dtype(vlen=np.dtype("u1"))
    value = np.empty((1,), dtype=object)
    value[0] = np.frombuffer(b"TOP-SECRET", "u1")
    handle["model_weights"].attrs.create("bytes", value, dtype=kind)


def record_attribute(handle, tmp_path):
    kind = np.dtype([("a", "f4"), ("who", h5py.special_dtype(ref=h5py.Reference))])
    h5py.h5a.create(handle.id, b"record", h5py.h5t.py_create(kind), h5py.h5s.create(h5py.h5s.SCALAR))


def reference_array(handle, tmp_path):
    handle.create_dataset("refs", data=[handle.ref], dtype=h5py.special_dtype(ref=h5py.Reference))


def records_with_references(handle, tmp_path):
    kind = np.dtype([("a", "f4"), ("who", h5py.special_dtype(ref=h5py.Reference))])
    handle.create_dataset("optimizer_weights/records", (2,), kind)


def type_of_its_own(handle, tmp_path):
    kind = h5py.h5t.IEEE_F32LE.copy()
    kind.commit(handle.id, b"kind")
    space = h5py.h5s.create_simple((3,))
    h5py.h5d.create(handle["model_weights/net/first"].id, b"typed", kind, space)
    del handle["kind"]


def named_type(handle, tmp_path):
    handle["optimizer_weights/type"] = np.dtype("f4")


def filter_from_a_plug_in(handle, tmp_path):
    plist = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    plist.set_chunk((8,))
    plist.set_filter(32015, h5py.h5z.FLAG_OPTIONAL, ())
    space = h5py.h5s.create_simple((8,))
    h5py.h5d.create(handle["optimizer_weights"].id, b"z", h5py.h5t.NATIVE_INT8, space, plist)


FOREIGN = [
    (external_storage, "/model_weights/net/first/kernel:0 has external storage"),
    (virtual, "/model_weights/net/first/kernel:0 is a virtual dataset"),
    (external_link, "/model_weights/net/first/kernel:0 is an external link"),
    (soft_link_in_optimizer, "/optimizer_weights/more is a soft link"),
    (soft_link_for_a_layer, "/model_weights/net is a soft link"),
    (reference_attribute, "'who' of /optimizer_weights holds references"),
    (region_attribute, "'who' of /model_weights/net/first/kernel:0 holds references"),
    (sequence_attribute, "'bytes' of /model_weights holds references or a type of its own"),
    (record_attribute, "'record' of / holds references"),
    (reference_array, "/refs holds references"),
    (records_with_references, "/optimizer_weights/records holds references"),
    (type_of_its_own, "/model_weights/net/first/typed holds references or a type of its own"),
    (named_type, "/optimizer_weights/type is a named datatype"),
    (filter_from_a_plug_in, "/optimizer_weights/z needs HDF5 filter 32015"),
]


@pytest.mark.parametrize(("change", "says"), FOREIGN, ids=[change.__name__ for change, _ in FOREIGN])
def test_what_could_bring_in_foreign_bytes_is_refused(tmp_path, source, change, says):
    with h5py.File(source, "r+") as handle:
        change(handle, tmp_path)
    refused(source, tmp_path, says)


def test_what_hangs_on_the_optimizers_state_is_not_carried_over(tmp_path, source):
    with h5py.File(source, "r+") as handle:
        state = handle["optimizer_weights"]
        state.attrs["note"] = "SMUGGLED-1"
        state["training/Adam/Variable:0"].attrs["note"] = "SMUGGLED-2"
        state["wrapper"] = handle["/"]  # the whole parallel model, by a hard link
    unparallel.convert(source, tmp_path / "clean.h5")
    data = (tmp_path / "clean.h5").read_bytes()
    assert b"SMUGGLED" not in data
    assert b"lambda_1" not in data
    with h5py.File(str(tmp_path / "clean.h5"), "r") as handle:
        assert list(handle["optimizer_weights"]) == ["training"]


def test_what_is_not_keras_own_is_named(tmp_path, source):
    with h5py.File(source, "r+") as handle:
        handle["labels"] = np.arange(3)
        handle.attrs["classes"] = "cat,dog"
    done = unparallel.convert(source, tmp_path / "clean.h5")
    assert done.notes == ("ignored (not written by Keras): 'classes', '/labels'",)
    assert unparallel.inspect(source).notes == done.notes
    with h5py.File(str(tmp_path / "clean.h5"), "r") as handle:
        assert "labels" not in handle
    model = tiny.TinyModel("net", (tiny.entry("x", 3), tiny.dense("first", "x", 3, 2)), ("x",), ("first",))
    weights = tiny.save(tmp_path / "weights.h5", tiny.parallel(model, 2), form="weights")
    assert not any(
        "left out" in note for note in unparallel.convert(weights, tmp_path / "made.h5", by_names=True).notes
    )


def wrapper_texts(parallel, gold):
    """Texts in every form in which they may lie in a file: code of slices, names of layers that are gone."""
    for config in (parallel, gold):
        assert config["config"]["layers"]

    def lambdas(value):
        if isinstance(value, dict):
            if value.get("class_name") == "Lambda" and isinstance(value["config"].get("function"), list):
                yield value["config"]["name"], value["config"]["function"][0]
            for item in value.values():
                yield from lambdas(item)
        elif isinstance(value, list):
            for item in value:
                yield from lambdas(item)

    kept = dict(lambdas(gold))
    for name, text in lambdas(parallel):
        if name not in kept:
            yield name.encode()
            yield json.dumps(text)[1:61].encode()
            yield base64.decodebytes(text.encode())[:60]


@pytest.mark.parametrize("name", ["k224-cnn", "k231-around", "k231-two-outputs", "tf115-nested", "tf23-sequential"])
def test_nothing_of_the_wrapper_is_in_the_clean_files_bytes(tmp_path, name):
    folder = os.path.join(FIXTURES, name)
    unparallel.convert(os.path.join(folder, "parallel.h5"), tmp_path / "clean.h5")
    configs = []
    for place in (os.path.join(folder, "parallel.h5"), str(tmp_path / "clean.h5")):
        with h5py.File(place, "r") as handle:
            configs.append(json.loads(hdf5.as_text(handle.attrs["model_config"])))
    texts = list(wrapper_texts(*configs))
    with open(os.path.join(folder, "parallel.h5"), "rb") as handle:
        before = handle.read()
    assert texts
    assert all(text in before for text in texts[:2])
    clean = (tmp_path / "clean.h5").read_bytes()
    assert [text for text in texts if text in clean] == []


# -- bounded ---------------------------------------------------------------------------------------------


def chunked(handle, shape, chunk, data, filters="gzip", place="model_weights/net/first/kernel:0"):
    del handle[place]
    made = handle.create_dataset(place, shape, "f4", maxshape=(None,) * len(shape), chunks=chunk, compression=filters)
    made.id.write_direct_chunk(tuple(0 for _ in shape), data)


def shape_bomb(handle):
    del handle["model_weights/net/first/kernel:0"]
    handle.create_dataset("model_weights/net/first/kernel:0", (10**6, 10**6), "f4")


def chunked_shape_bomb(handle):
    chunked(handle, (10**6, 10**6), (1000, 1000), zlib.compress(bytes(4 * 10**6)))


def huge_chunk(handle):
    chunked(handle, (2**29,), (2**29,), zlib.compress(b"\0"))


def gzip_bomb(handle):
    stream = zlib.compressobj(9)
    data = b"".join(stream.compress(bytes(2**20)) for _ in range(400)) + stream.flush()
    chunked(handle, (3, 3), (128, 128), data)


def gzip_that_ends_early(handle):
    chunked(handle, (3, 3), (128, 128), zlib.compress(os.urandom(60_000)))


def lzf_bomb(handle):
    # one byte as it is, then 264 bytes from one before, again and again
    chunked(handle, (3, 3), (128, 128), b"\0A" + b"\xe0\xff\0" * 2**20, "lzf")


def gzip_in_gzip(handle):
    del handle["model_weights/net/first/kernel:0"]
    plist = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    plist.set_chunk((3, 3))
    plist.set_deflate(9)
    plist.set_deflate(9)
    space = h5py.h5s.create_simple((3, 3))
    made = h5py.h5d.create(handle["model_weights/net/first"].id, b"kernel:0", h5py.h5t.IEEE_F32LE, space, plist)
    made.write_direct_chunk((0, 0), zlib.compress(zlib.compress(bytes(2**20))))


def one_array_by_a_thousand_names(handle):
    data = np.zeros(2**20, "u1")
    handle["model_weights/net/big"] = data
    for number in range(1000):
        handle[f"optimizer_weights/w{number}"] = handle["model_weights/net/big"]


def one_array_in_many_lists(handle):
    group = handle["model_weights/net"]
    names = [bytes(name) for name in group.attrs["weight_names"]]
    group.attrs["weight_names"] = np.array(names[:1] * len(names))


def groups_without_end(handle):
    group = handle.id
    for _ in range(8000):
        group = h5py.h5g.create(group, b"g")


def cycles_of_hard_links(handle):
    for name in ("model_weights", "optimizer_weights", "model_weights/net"):
        handle[name + "/up"] = handle["/"]
        handle[name + "/same"] = handle[name]


def reworked_config(change):
    def make(handle):
        config = json.loads(hdf5.as_text(handle.attrs["model_config"]))
        text = change(config)
        data = (text if isinstance(text, str) else json.dumps(config)).encode("ascii")
        handle.attrs.create("model_config", data, shape=(), dtype=h5py.special_dtype(vlen=bytes))

    make.__name__ = change.__name__
    return make


@reworked_config
def million_layers(config):
    layer = json.dumps(config["config"]["layers"][0])
    return '{{"class_name": "Model", "config": {{"name": "m", "layers": [{}]}}}}'.format(",".join([layer] * 10**6))


@reworked_config
def thirty_thousand_layers(config):
    layers = config["config"]["layers"]
    layers += [dict(layers[0], name=f"x{number}") for number in range(30_000)]


@reworked_config
def levels_of_json(config):
    return "[" * 100_000 + "]" * 100_000


@reworked_config
def levels_in_a_node(config):
    value = 1
    for _ in range(900):
        value = [value]
    config["config"]["layers"][-1]["inbound_nodes"][0][0][3] = {"deep": value}


@reworked_config
def brackets(config):
    return "[" + "[],{}," * (5 * 10**6) + "0]"


@reworked_config
def endless_number(config):
    return '{"class_name": "Model", "config": %s}' % ("7" * 10**6)


@reworked_config
def long_name(config):
    return json.dumps(config).replace('"first"', '"%s"' % ("n" * (10 * 2**20)))


@reworked_config
def models_in_models(config):
    entry = config["config"]["layers"][0]
    for number in range(60):  # above this, the levels of JSON alone are too many
        ends = {"input_layers": [], "output_layers": [[entry["name"], 0, 0]]}
        inner = dict(ends, name=f"m{number}", layers=[entry])
        entry = {"class_name": "Model", "name": f"m{number}", "config": inner, "inbound_nodes": []}
    config["config"]["layers"].append(entry)


BOMBS = [
    (shape_bomb, "/first/kernel:0 claims 4000000000000 bytes, the file holds 0"),
    (chunked_shape_bomb, "/first/kernel:0 claims 4000000000000 bytes"),
    (huge_chunk, "/first/kernel:0 has chunks of 2147483648 bytes"),
    (gzip_bomb, r"/first/kernel:0 has a chunk at \(0, 0\) that (does not unpack to 65536|is stored in more)"),
    (gzip_that_ends_early, "that does not unpack to 65536 bytes"),
    (lzf_bomb, "that (does not unpack to 65536|is stored in more)"),
    (gzip_in_gzip, "is compressed twice"),
    (one_array_by_a_thousand_names, "claim more bytes than the file has"),
    (one_array_in_many_lists, "lists weight 'first/kernel:0' twice"),
    (groups_without_end, "groups nested more than 64 deep"),
    (cycles_of_hard_links, ""),
    (million_layers, "hold texts of 157000096 bytes"),
    (thirty_thousand_layers, "more than 25000 layers"),
    (levels_of_json, "nested"),
    (levels_in_a_node, "nested"),
    (brackets, "too large"),
    (endless_number, "a number of 1000000 digits"),
    (long_name, "name has 10485760 characters"),
    (models_in_models, "models nested more than 50 deep"),
]


@pytest.mark.slow
@pytest.mark.parametrize(("change", "says"), BOMBS, ids=[change.__name__ for change, _ in BOMBS])
def test_bombs_cost_little(tmp_path, source, change, says):
    with h5py.File(source, "r+") as handle:
        change(handle)
    ran = run(source, "-o", tmp_path / "clean.h5")
    assert ran.megabytes < 300
    assert ran.seconds < 30
    lines = ran.err.splitlines()
    if not says:  # harmless, so that the conversion is as good as any
        assert (ran.code, lines) == (0, [])
        return
    assert ran.code == 1, ran
    assert [line.split(":")[0] for line in lines] == ["unparallel", "hint"]
    assert len(ran.err) < 3000
    with pytest.raises(UnparallelError, match=says):
        unparallel.convert(source, tmp_path / "clean.h5")
    assert [name for name in os.listdir(str(tmp_path)) if "clean" in name] == []


def test_a_list_of_more_texts_than_any_keras_writes(tmp_path):
    path = str(tmp_path / "weights.h5")
    with h5py.File(path, "w", libver="latest") as handle:
        names = [b"n%d" % number for number in range(5000)]
        handle.attrs.create("layer_names", names, dtype=h5py.special_dtype(vlen=bytes))
    refused(path, tmp_path, "'layer_names' of / holds 5000 texts")


def test_a_list_that_names_one_long_text_many_times(tmp_path, source):
    with h5py.File(source, "r+") as handle:
        text = h5py.special_dtype(vlen=bytes)
        names = [b"n%04d" % number for number in range(2000)]
        handle["model_weights"].attrs.create("layer_names", names, dtype=text)
        handle.attrs.create("long", b"L" * 2**20, shape=(), dtype=text)
    with open(source, "rb") as file:
        data = bytearray(file.read())
    # a text is stored as its length, the place of its collection, and its number there
    places = [found.start() for found in re.finditer(re.escape(b"GCOL\x01\0\0\0"), bytes(data))]
    (long,) = [place for place in places if struct.unpack_from("<Q", data, place + 8)[0] > 2**20]
    patched = 0
    for place in places:
        short = struct.pack("<IQ", 5, place)
        at = data.find(short)
        while at >= 0:
            data[at : at + 16] = struct.pack("<IQI", 2**20, long, 1)
            patched += 1
            at = data.find(short, at + 16)
    assert patched >= 2000
    with open(source, "wb") as file:
        file.write(data)
    refused(source, tmp_path, "attributes hold texts of 2[0-9]{9} bytes")


@pytest.mark.parametrize("change", [gzip_bomb, gzip_that_ends_early, lzf_bomb])
def test_chunks_are_unpacked_by_whoever_looks_and_by_nobody_else(tmp_path, source, change):
    with h5py.File(source, "r+") as handle:
        change(handle)
        stored = handle["model_weights/net/first/kernel:0"].id.read_direct_chunk((0, 0))
    target = tmp_path / "clean.h5"
    if len(stored[1]) < 2**17:  # one that takes more bytes than it has is refused as it is
        unparallel.convert(source, target, verify=False, scan=False)
        with h5py.File(str(target), "r") as made:
            assert made["model_weights/first/first/kernel:0"].id.read_direct_chunk((0, 0)) == stored
        target.unlink()
    for options in ({}, {"verify": False}, {"scan": False}):
        with pytest.raises(HostileFileError, match=r"that (does not unpack to 65536 bytes|is stored in more)"):
            unparallel.convert(source, target, **options)
        assert os.listdir(str(tmp_path)) == ["parallel.h5"]


def test_chunks_of_the_optimizers_state_are_looked_at_too(tmp_path, source):
    with h5py.File(source, "r+") as handle:
        place = "optimizer_weights/training/Adam/Variable:0"
        chunked(handle, (3, 3), (128, 128), zlib.compress(os.urandom(60_000)), place=place)
    with pytest.raises(HostileFileError, match="that does not unpack to 65536 bytes"):
        unparallel.convert(source, tmp_path / "clean.h5", scan=False)


COPY = """
import sys, unparallel
try:
    unparallel.convert(sys.argv[1], sys.argv[2], verify=False, scan=False)
except unparallel.UnparallelError as error:
    print(type(error).__name__)
"""


@pytest.mark.parametrize(("size", "lies"), [(44, "beyond"), (1000, "beyond"), (70_000, "beyond"), (70_000, "within")])
def test_chunks_that_cannot_be_copied(tmp_path, source, size, lies):
    """HDF5 2.0 frees its buffer twice where a chunk takes more than it has (36 bytes) and cannot be read."""
    data = zlib.compress(os.urandom(36))
    with h5py.File(source, "r+") as handle:
        chunked(handle, (3, 3), (3, 3), data)
    with open(source, "rb") as file:
        content = file.read() + bytes(2**17)  # the file is large enough for what is claimed
    # in the tree's node: size, filters, where the chunk begins in each axis and in an element, and where it lies
    place = content.index(data)
    entry = struct.pack("<II3QQ", len(data), 0, 0, 0, 0, place)
    assert content.count(entry) == 1
    place = len(content) - 10 if lies == "beyond" else place
    with open(source, "wb") as file:
        file.write(content.replace(entry, struct.pack("<II3QQ", size, 0, 0, 0, 0, place)))
    ran = run(source, tmp_path / "clean.h5", code=COPY)
    assert (ran.code, ran.out.strip()) in [(0, "FileError"), (0, "HostileFileError")], ran
    assert os.listdir(str(tmp_path)) == ["parallel.h5"]


def one_large_kernel(path, units, make):
    """A parallel file with one layer, whose kernel `make(group)` makes."""
    small = tiny.TinyModel("net", (tiny.entry("x", 3), tiny.dense("first", "x", 1, 1)), ("x",), ("first",))
    tiny.save(path, tiny.parallel(small, 2))
    with h5py.File(str(path), "r+") as handle:
        config = hdf5.as_text(handle.attrs["model_config"])
        handle.attrs["model_config"] = config.replace('"units": 1', f'"units": {units}')
        group = handle["model_weights/net/first"]
        del group["kernel:0"], group["bias:0"]
        group["bias:0"] = np.zeros(units, "f4")
        make(group)


@pytest.mark.slow
def test_honest_compression_of_a_thousand_to_one_works(tmp_path):
    zeros = np.zeros((6000, 6000), "float32")
    zeros[5999, 5999] = 1

    def packed(group):
        # chunks that lie across the rows: the worst order for reading by rows
        group.create_dataset("kernel:0", data=zeros, chunks=(6000, 30), compression=9)

    source = tmp_path / "packed.h5"
    one_large_kernel(source, 6000, packed)
    assert source.stat().st_size < 400_000
    ran = run(source, "-o", tmp_path / "clean.h5")
    assert (ran.code, ran.err) == (0, "")
    assert ran.megabytes < 250
    assert ran.seconds < 15
    with h5py.File(str(tmp_path / "clean.h5"), "r") as made:
        assert made["model_weights/first/first/kernel:0"][5999, 5999] == 1


def sparse_model(path, megabytes):
    """A parallel file of that size whose weights are holes of the file system."""
    rows = megabytes * 2**20 // 4 // 2000

    def holes(group):
        plist = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        plist.set_layout(h5py.h5d.CONTIGUOUS)
        plist.set_alloc_time(h5py.h5d.ALLOC_TIME_EARLY)
        plist.set_fill_time(h5py.h5d.FILL_TIME_NEVER)
        space = h5py.h5s.create_simple((rows, 2000))
        made = h5py.h5d.create(group.id, b"kernel:0", h5py.h5t.IEEE_F32LE, space, plist)
        h5py.Dataset(made)[rows - 1, 1999] = 1

    one_large_kernel(path, 2000, holes)


@pytest.mark.slow
@pytest.mark.parametrize("megabytes", [200, 3000])
def test_peak_memory_of_an_honest_file(tmp_path, megabytes):
    if megabytes > 1000 and not os.environ.get("UNPARALLEL_SLOW"):
        pytest.skip("UNPARALLEL_SLOW=1 runs it")
    sparse_model(tmp_path / "parallel.h5", megabytes)
    bare = run(code="import h5py, networkx")
    ran = run(tmp_path / "parallel.h5", "-o", tmp_path / "clean.h5")
    assert (ran.code, ran.err) == (0, "")
    assert ran.megabytes < bare.megabytes + 60
    print(f"{megabytes} MB: {ran.megabytes:.0f} MB, bare imports {bare.megabytes:.0f} MB, {ran.seconds:.1f} s")


# -- names -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name", ["../../../etc", "..", ".", "a/../b", "/model_weights", "", "a//b", "nul\0byte", "a/", "\ud800"]
)
def test_names_cannot_lead_elsewhere(tmp_path, source, name):
    encoded = name.encode("utf-8", "surrogatepass")
    with h5py.File(source, "r+") as handle:
        group = handle["model_weights"]
        names = [bytes(item) for item in group.attrs["layer_names"]]
        group.attrs["layer_names"] = np.array(names[:-1] + [encoded + b"x" if name == "nul\0byte" else encoded])
        config = hdf5.as_text(handle.attrs["model_config"])
        handle.attrs["model_config"] = config.replace(json.dumps("middle"), json.dumps(name))
    with pytest.raises(UnparallelError):
        unparallel.convert(source, tmp_path / "clean.h5")
    assert os.listdir(str(tmp_path)) == ["parallel.h5"]


@pytest.mark.parametrize("name", ["left\u202eright", "\x1b[31mred", "tab\tnew\nline", "名前", "a b", "\u00e9" * 100])
def test_odd_names_are_carried_over_and_do_not_drive_the_terminal(tmp_path, name, capsys):
    model = tiny.TinyModel("net", (tiny.entry("x", 3), tiny.dense(name, "x")), ("x",), (name,))
    source = tiny.save(tmp_path / "parallel.h5", tiny.parallel(model, 2))
    assert main([source, "-o", str(tmp_path / "clean.h5")]) == 0
    assert main([str(tmp_path / "clean.h5")]) == 3
    said = capsys.readouterr()
    assert said.err == ""
    assert not {"\x1b", "\u202e", "\t"} & set(said.out)


def test_two_objects_of_one_name(tmp_path, source):
    """A link whose name holds a slash passes for a path: such files are refused where they could mislead."""
    with h5py.File(source, "r+") as handle:
        handle["model_weights/net/first"].create_dataset("kernelX0", data=np.zeros((3, 3), "f4"))
    with open(source, "rb") as handle:
        data = handle.read()
    # the only way to such a name is to patch the file
    assert data.count(b"kernelX0") == 1
    with open(source, "wb") as handle:
        handle.write(data.replace(b"kernelX0", b"kernel:0"))
    with pytest.raises(FileError):
        unparallel.convert(source, tmp_path / "clean.h5")


def test_limits_are_far_above_real_models():
    assert keras_config.MOST_LAYERS >= 20_000
    assert sys.getrecursionlimit() >= 2 * keras_config.DEEPEST_JSON + 300
