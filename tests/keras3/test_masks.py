"""Masks: what Keras 3 would see otherwise is refused, and what it must be told is written."""

import pytest

from unparallel.errors import Keras3Error

from .models import archive, entries, layer, source

IDS = source("ids", (None, 4))
EMBEDDED = layer("Embedding", {"input_dim": 9, "output_dim": 3, "mask_zero": True}, ((9, 3),), "emb", (("ids",),))
PLAIN = layer("Embedding", {"input_dim": 9, "output_dim": 3, "mask_zero": False}, ((9, 3),), "plain", (("ids",),))
RNN = {"units": 3, "use_bias": False, "activation": "tanh", "recurrent_activation": "sigmoid"}
OF_RNN = ((3, 12), (3, 12))


@pytest.mark.parametrize("merge", ["Add", "Multiply", "Concatenate", "Maximum"])
def test_masked_and_not_masked_merged_and_looked_at(merge):
    width = 6 if merge == "Concatenate" else 3
    rnn = layer("LSTM", RNN, ((width, 12), (3, 12)), "it", (("both",),))
    with pytest.raises(Keras3Error, match="LSTM.*another mask"):
        archive(IDS, EMBEDDED, PLAIN, layer(merge, {}, (), "both", (("emb", "plain"),)), rnn)


def test_different_masks_merged():
    other = layer("Embedding", {"input_dim": 9, "output_dim": 3, "mask_zero": True}, ((9, 3),), "emb2", (("ids2",),))
    ids = source("ids2", (None, 4))
    merged = layer("Add", {}, (), "it", (("emb", "emb2"),))
    with pytest.raises(Keras3Error, match="'it'.*different masks"):
        archive(IDS, ids, EMBEDDED, other, merged)


def test_equal_masks_merged_and_looked_at_are_fine():
    again = dict(EMBEDDED, name="emb2", config=dict(EMBEDDED["config"], name="emb2"))
    merged = layer("Add", {}, (), "both", (("emb", "emb2"),))
    made = archive(IDS, EMBEDDED, again, merged, layer("LSTM", RNN, OF_RNN, "it", (("both",),)))
    assert set(entries(made)) == {"ids", "emb", "emb2", "both", "it"}


def test_masked_steps_that_merges_fill_otherwise_are_a_note_at_the_end_and_refused_inside():
    again = dict(EMBEDDED, name="emb2", config=dict(EMBEDDED["config"], name="emb2"))
    merged = layer("Add", {}, (), "it", (("emb", "emb2"),))
    notes = archive(IDS, EMBEDDED, again, merged).notes
    assert [(note.kind, note.layer) for note in notes if "masked" in note.text] == [("differs", "it")]
    flat = layer("Flatten", {}, (), "flat", (("it",),))
    with pytest.raises(Keras3Error, match="'flat'.*masked steps"):
        archive(IDS, EMBEDDED, again, merged, flat, outputs=("flat",), version="2.4.0")


def test_bidirectional_of_standalone_keras_repeats_and_that_of_tf_keras_writes_zeros():
    inner = {"class_name": "LSTM", "config": dict(RNN, name="r", return_sequences=True)}
    both = layer("Bidirectional", {"layer": inner}, OF_RNN * 2, "it", (("emb",),))
    assert any("masked" in note.text for note in archive(IDS, EMBEDDED, both, version="2.3.1").notes)
    assert not any("masked" in note.text for note in archive(IDS, EMBEDDED, both, version="2.4.0").notes)


def test_a_state_needs_the_mask_by_name():
    first = layer("LSTM", dict(RNN, return_state=True), OF_RNN, "first", (("emb",),))
    second = layer("LSTM", RNN, OF_RNN, "it", (("emb",),), {"initial_state": [["first", 0, 1], ["first", 0, 2]]})
    made = archive(IDS, EMBEDDED, first, second, version="2.4.0")
    node = entries(made)["it"]["inbound_nodes"][0]
    assert [tensor["config"]["keras_history"] for tensor in node["args"]] == [["emb", 0, 0]]
    states = [tensor["config"]["keras_history"] for tensor in node["kwargs"]["initial_state"]]
    assert states == [["first", 0, 1], ["first", 0, 2]]
    mask = node["kwargs"]["mask"]["config"]["keras_history"][0]
    (operation,) = [item for item in made.config["config"]["layers"] if item["name"] == mask]
    assert (operation["class_name"], operation["module"]) == ("NotEqual", "keras.src.ops.numpy")
    assert operation["inbound_nodes"][0]["args"][0]["config"]["keras_history"] == ["ids", 0, 0]
    assert operation["inbound_nodes"][0]["args"][1] == 0


def test_states_in_the_list_of_inputs():
    first = layer("LSTM", dict(RNN, return_state=True), OF_RNN, "first", (("plain",),))
    second = layer("LSTM", RNN, OF_RNN, "it", (("plain", ("first", 0), ("first", 0)),))
    node = entries(archive(IDS, PLAIN, first, second))["it"]["inbound_nodes"][0]
    assert len(node["args"]) == 1
    assert len(node["kwargs"]["initial_state"]) == 2


def test_attention_takes_causal_in_its_call():
    attention = layer("Attention", {"causal": True, "use_scale": False}, (), "it", (("plain", "plain"),))
    assert entries(archive(IDS, PLAIN, attention, version="2.4.0"))["it"]["inbound_nodes"][0]["kwargs"] == {
        "use_causal_mask": True
    }


def test_a_name_that_keras_3_gives_to_what_makes_masks():
    again = dict(EMBEDDED, name="emb2", config=dict(EMBEDDED["config"], name="emb2"))
    merged = layer("Concatenate", {"axis": -1}, (), "concatenate_1", (("emb", "emb2"),))
    rnn = layer("LSTM", RNN, ((6, 12), (3, 12)), "it", (("concatenate_1",),))
    made = archive(IDS, EMBEDDED, again, merged, rnn)
    assert "concatenate_1_layer" in entries(made)
    node = entries(made)["it"]["inbound_nodes"][0]
    assert node["args"][0]["config"]["keras_history"] == ["concatenate_1_layer", 0, 0]
    assert [(note.kind, note.layer) for note in made.notes] == [("renamed", "concatenate_1")]
    # without masks there are no such operations
    plain = layer("Concatenate", {"axis": -1}, (), "concatenate_1", (("plain", "plain"),))
    assert "concatenate_1" in entries(archive(IDS, PLAIN, plain, rnn))
