"""Checkpoints and SavedModels written by hand, byte by byte, so that each of their numbers can be made wrong.

The checksum is computed bit by bit from RFC 3720's definition, by other code than the package's.
"""

import json
import os
import struct

import numpy as np

MAGIC = 0xDB4775248B80FB57
FLOAT, INT64, TEXT, BFLOAT16 = 1, 9, 7, 14
GRAPH_KEY = "_CHECKPOINTABLE_OBJECT_GRAPH"


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def masked(data):
    crc = crc32c(data)
    return ((crc >> 15 | crc << 17 & 0xFFFFFFFF) + 0xA282EAD8) & 0xFFFFFFFF


def varint(number):
    found = b""
    while number > 0x7F:
        found += bytes([number & 0x7F | 0x80])
        number >>= 7
    return found + bytes([number])


def message(*fields):
    """A protocol buffer: (number, value) with an int, text, or bytes; a negative number stands for a fixed32."""
    found = b""
    for number, value in fields:
        if number < 0:
            found += varint(-number << 3 | 5) + struct.pack("<I", value)
        elif isinstance(value, int):
            found += varint(number << 3) + varint(value)
        else:
            data = value.encode("utf-8") if isinstance(value, str) else value
            found += varint(number << 3 | 2) + varint(len(data)) + data
    return found


def block(entries, kind=0, crc=None):
    """A block of a table with its trailer."""
    data = b""
    for key, value in entries:
        data += varint(0) + varint(len(key)) + varint(len(value)) + key + value
    data += struct.pack("<II", 0, 1)
    return data + bytes([kind]) + struct.pack("<I", masked(data + bytes([kind])) if crc is None else crc)


def table(entries, kind=0, crc=None):
    """A table of one block."""
    content = block(entries, kind, crc)
    about = block([])
    index = block([(entries[-1][0] if entries else b"", varint(0) + varint(len(content) - 5))])
    footer = varint(len(content)) + varint(len(about) - 5)
    footer += varint(len(content) + len(about)) + varint(len(index) - 5)
    return content + about + index + footer.ljust(40, b"\0") + struct.pack("<Q", MAGIC)


def header(shards=1, endianness=0):
    return message((1, shards), (2, endianness), (3, message((1, 1))))


def entry(dtype, shape, offset, data, size=None, crc=None, shard=0, more=()):
    dims = message(*[(2, message((1, length))) for length in shape])
    return message(
        (1, dtype),
        (2, dims),
        (3, shard),
        (4, offset),
        (5, len(data) if size is None else size),
        (-6, masked(data) if crc is None else crc),
        *more,
    )


def text_bytes(data):
    """(bytes of a scalar text, what its checksum goes over)."""
    length = struct.pack("<I", len(data))
    check = struct.pack("<I", masked(length))
    return varint(len(data)) + check + data, length + check + data


def write(prefix, arrays, objects=None, shards=1, endianness=0, kind=0, change=None):
    """A checkpoint: `{key: array}`, and the object graph's bytes.

    `change` may alter an entry's arguments: `change(key, keywords)`.
    """
    os.makedirs(os.path.dirname(prefix), exist_ok=True)
    data = [b""] * shards
    entries = [(b"", header(shards, endianness))]
    for i, key in enumerate(sorted(arrays, key=lambda name: name.encode())):
        raw, shard = arrays[key].tobytes(), i % shards
        code = {"float32": FLOAT, "int64": INT64}[arrays[key].dtype.name]
        options = {"dtype": code, "shape": arrays[key].shape, "offset": len(data[shard]), "data": raw, "shard": shard}
        if change is not None:
            change(key, options)
        entries.append((key.encode(), entry(**options)))
        data[shard] += raw
    if objects is not None:
        raw, summed = text_bytes(objects)
        line = entry(TEXT, (), len(data[0]), raw, crc=masked(summed))
        entries.insert(1, (GRAPH_KEY.encode(), line))
        data[0] += raw
    entries.sort()
    with open(prefix + ".index", "wb") as file:
        file.write(table(entries, kind))
    for shard, content in enumerate(data):
        with open(f"{prefix}.data-{shard:05d}-of-{shards:05d}", "wb") as file:
            file.write(content)
    return prefix


def graph(nodes):
    """An object graph: each node ({local name: number}, key, full name, slots)."""
    found = []
    for children, key, name, slots in nodes:
        fields = [(1, message((1, number), (2, local))) for local, number in children.items()]
        if key:
            fields.append((2, message((1, "VARIABLE_VALUE"), (2, name), (3, key))))
        fields += [(3, message((1, a), (2, slot), (3, b))) for a, slot, b in slots]
        found.append((1, message(*fields)))
    return message(*found)


KERNEL = np.arange(6, dtype="float32").reshape(2, 3)
BIAS = np.array([7, 8, 9], dtype="float32")
STEP = np.array(5, dtype="int64")
VALUE = "/.ATTRIBUTES/VARIABLE_VALUE"
KERNEL_KEY = "layer_with_weights-0/layer_with_weights-0/kernel" + VALUE
BIAS_KEY = "layer_with_weights-0/layer_with_weights-0/bias" + VALUE
STEP_KEY = "optimizer/iter" + VALUE


def nodes(root=None):
    """The objects of a wrapper with two replicas around a template of an InputLayer and a Dense."""
    wrapper = {"layer-0": 1, "layer-1": 2, "layer-2": 3, "layer-3": 4, "layer-4": 5, "optimizer": 9}
    return [
        (root or wrapper, "", "", ()),
        ({}, "", "", ()),
        ({}, "", "", ()),
        ({}, "", "", ()),
        ({"layer-0": 1, "layer-1": 6, "layer_with_weights-0": 6}, "", "", ()),
        ({}, "", "", ()),
        ({"kernel": 7, "bias": 8}, "", "", ()),
        ({}, KERNEL_KEY, "other_name/kernel", ()),
        ({}, BIAS_KEY, "other_name/bias", ()),
        ({"iter": 10}, "", "", ()),
        ({}, STEP_KEY, "Adam/iter", ()),
    ]


def arrays():
    return {KERNEL_KEY: KERNEL, BIAS_KEY: BIAS, STEP_KEY: STEP}


def checkpoint(prefix, **options):
    """A checkpoint of a small parallel model."""
    return write(str(prefix), arrays(), graph(nodes()), **options)


def dense(name="d"):
    config = {"name": name, "trainable": True, "units": 3, "use_bias": True}
    return {"class_name": "Dense", "name": name, "config": config, "inbound_nodes": [[["x", 0, 0, {}]]]}


def template_config(name="net", layer=None):
    layer = layer or dense()
    first = {"batch_input_shape": [None, 2], "dtype": "float32", "sparse": False, "name": "x"}
    return {
        "class_name": "Model",
        "config": {
            "name": name,
            "layers": [{"class_name": "InputLayer", "name": "x", "config": first, "inbound_nodes": []}, layer],
            "input_layers": [["x", 0, 0]],
            "output_layers": [[layer["name"], 0, 0]],
        },
        "keras_version": "2.2.4-tf",
        "backend": "tensorflow",
    }


def architecture(folder, value=None):
    path = os.path.join(str(folder), "architecture.json")
    with open(path, "w") as file:
        json.dump(value or template_config(), file)
    return path
