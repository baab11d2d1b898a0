import pytest

from .. import weight_table
from . import stack


@pytest.mark.parametrize("framework", ["keras", "tensorflow.keras"] if stack.STANDALONE else ["tensorflow.keras"])
def test_table_says_what_keras_builds(framework):
    weight_table.check(framework)
