"""The loops of a source file: how they are listed, and their text beside the mapping."""
