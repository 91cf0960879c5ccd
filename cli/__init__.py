"""The door: the `fireassay` command. It only assembles."""
