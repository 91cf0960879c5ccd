"""The fire: what faults this machine can make, and the engines that make them."""
