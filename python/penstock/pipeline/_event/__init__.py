"""Pipelines on an event loop: those with queues or merges of the user's own, or batched routers.

The same meaning as the native engine, slower: each item is a task of asyncio. ``graph`` makes
nodes of a definition, ``stages``, ``joins`` and ``ends`` are what nodes do, ``run`` runs them
together, ``engine`` is the thread and the consumer's side.
"""
