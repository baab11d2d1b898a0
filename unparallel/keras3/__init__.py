"""A `ModelFile` of any old dialect -> a native Keras 3 archive, without Keras.

    ModelFile --translate--> Archive (config, arrays by path, notes) --archive--> file --verify--> facts

What an old class or argument is called today, and what it means there, is data: `names` (Keras 1 to Keras 2),
`layers` (a row for each class), `objects` (initializers and their like).  `rewrites` are the few things that need
arrays or several layers, `arrays` what is done to numbers, `graph` the calls, the masks, and the order of layers
that decides where weights are looked for.  What no table knows is refused by name.
"""
