from .. import weight_table


def test_table_says_what_tf_keras_builds():
    weight_table.check("tf_keras")
