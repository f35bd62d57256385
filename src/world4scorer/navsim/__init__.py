"""The formats of the NAVSIM ecosystem, read and written without its devkit."""
