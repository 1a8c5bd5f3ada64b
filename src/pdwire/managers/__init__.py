"""Backend managers: thin shells of sockets, threads and engines around the sans-IO cores."""
