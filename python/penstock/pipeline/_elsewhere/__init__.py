"""Work in another process: ``wire`` carries objects, ``process`` starts one, ``iterate`` and
``pipeline`` have it iterate and run pipelines (``worker`` is the other side), ``processes`` is an
executor."""
