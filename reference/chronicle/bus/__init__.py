"""The control plane beside the queues: where they lie, who is ready, who lives, who came and went. No threads, no supervision."""
