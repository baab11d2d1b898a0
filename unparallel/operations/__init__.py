"""What old functions of tensors mean, as operations of Keras 3: a recorder, and the table that it looks into.

    SavedFunction --record.py--> Recorded (entries of Keras 3, one for each operation)

`record` follows a function's bytecode, which is read and never run, over a `Recorder`; `table` holds what each name of
Keras' backend, TensorFlow, numpy and Python means, a row for each, in a module for each family.  A name that no row
knows is refused by that name.  Nothing here knows files, layers' configs or JSON.
"""
