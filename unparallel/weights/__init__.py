"""Which weights belong to which layer, and which of them hold NaN or Inf."""
