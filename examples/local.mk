# Examples, which are tests too.
