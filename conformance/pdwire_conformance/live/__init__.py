"""The suite as the other side of a live prefill or decode rank, over ZMQ, HTTP and an engine."""
