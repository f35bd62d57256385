"""NAVSIM's file formats, read and written without its devkit."""
