"""The driver protocol: a target as a program of its own, in any language. PROTOCOL.md specifies it."""
