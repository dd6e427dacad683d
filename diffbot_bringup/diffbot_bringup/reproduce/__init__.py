"""``diffbot reproduce``: the tables and figures of the papers, published beside ours."""
