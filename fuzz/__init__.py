"""Two fuzzers: `python -m fuzz.container` damages HDF5 files, `python -m fuzz.config` the configs in them."""
