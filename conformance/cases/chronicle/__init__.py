"""The cases of chronicle: through the port of whatever target calls itself chronicle, and in the files that it leaves.

The queue of a stream lies in the directory of that name below the place. Its bytes are read and made by spec.layouts.chronicle alone.
"""
