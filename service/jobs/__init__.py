"""Long work that the API is asked for: captures that are kept, and jobs over them and the store."""
