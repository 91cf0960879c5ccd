"""The assayer: from recorded history to verdicts. Meets the other rooms only through files."""
