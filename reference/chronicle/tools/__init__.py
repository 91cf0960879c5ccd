"""A queue seen from outside, for people who operate it: nobody is registered, no lock is taken, no byte is changed."""
