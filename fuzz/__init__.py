"""Fuzzers: `fuzz.container` damages HDF5 files, `fuzz.config` their configs, `fuzz.checkpoints` TensorFlow's files."""
