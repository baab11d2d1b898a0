"""Get the single-GPU Keras model back out of a saved multi_gpu_model file."""

__version__ = "0.1.0"
