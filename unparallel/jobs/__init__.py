"""Many files: what to convert and to where, in processes of their own, with a report."""
