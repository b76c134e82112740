"""What is wrong with a filter, and where."""


class FilterError(ValueError):
    """A filter that cannot be read: one sentence, and the column (from 1) that it is about."""

    def __init__(self, column: int, sentence: str) -> None:
        super().__init__(f"column {column}: {sentence}")
        self.column = column
        self.sentence = sentence
