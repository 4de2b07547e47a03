"""Work in another process: ``wire`` carries objects, ``worker`` is the other side, ``iterate`` this
one, ``pipeline`` runs whole pipelines there."""
