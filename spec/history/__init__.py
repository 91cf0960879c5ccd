"""The recorded history: one 64-byte row per event, its operations, and how rows pair into calls."""
