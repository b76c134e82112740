"""Wire formats: one table a header, one file a family, with the document's picture above it."""
