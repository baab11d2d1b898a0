"""What a slice is: which rows of which tensor a layer's call gives, proven from what the file says.

A slice function is a stranger's code, so it is never run: `marshal` and `instructions` read it, `interpreter` walks
through its instructions over symbolic values, `functions` says what TensorFlow's and Keras' functions do to these.
Layers are rows of a table (`layers`).  A call is `Rows` only if that follows for every batch; all else is `Unknown`,
with the reason.  The names of the function itself, of its parameters and of the layer are never evidence.
"""

from .lambdas import CodeInfo, Context, SavedFunction, code_of
from .layers import evaluate, is_helper, looks_like_slice, shape_is_scalar
from .partition import check_partition, describe
from .values import Joined, Mean, Name, Output, Rows, Shape, Tensor, Unknown

__all__ = [
    "CodeInfo",
    "Context",
    "Joined",
    "Mean",
    "Name",
    "Output",
    "Rows",
    "SavedFunction",
    "Shape",
    "Tensor",
    "Unknown",
    "check_partition",
    "code_of",
    "describe",
    "evaluate",
    "is_helper",
    "looks_like_slice",
    "shape_is_scalar",
]
