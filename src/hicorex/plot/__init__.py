"""Pictures of a fitted model, one function each: they take matplotlib axes as ``ax`` and return them."""
