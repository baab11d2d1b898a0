"""The version, where everything below the face of the package can import it."""

__version__ = "0.2.0.dev0"
