"""What a frozen encoder perceives, computed once per frame and kept on disk. Needs torch."""
