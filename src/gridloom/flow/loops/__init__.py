"""The loops of a source file: how they are listed, and their text beside the mapping.

Both need the front end of the language, which reads the file; nothing here maps.
"""
