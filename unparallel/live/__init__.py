"""Live Keras models of any flavour, by duck typing: no framework is imported."""
