"""What a person reads of a result: its facts, as lines, as cards, and where the clean file opens."""
