"""The Spark judge: a second reading of the contract, over many trials at once."""
