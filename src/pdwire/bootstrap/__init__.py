"""The HTTP rendezvous of prefill and decode ranks: table, server, client, rank mapping.

Only the server needs more than the base install: aiohttp
(``pip install 'pdwire[managers]'``).
"""
