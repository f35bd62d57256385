"""The formats of the NAVSIM ecosystem on disk, read and written without its devkit."""
