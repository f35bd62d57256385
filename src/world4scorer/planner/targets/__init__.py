"""Future targets: features of the front view two seconds later, from a frozen encoder. Needs torch."""
