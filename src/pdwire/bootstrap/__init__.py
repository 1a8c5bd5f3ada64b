"""The HTTP rendezvous of prefill and decode ranks: table, server, client, rank mapping.

Only :mod:`mapping` and :mod:`table` come with the base install; the server needs aiohttp
and the client requests (``pip install 'pdwire[managers]'``).
"""
