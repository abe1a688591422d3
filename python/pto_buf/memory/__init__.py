"""Where slots lie: footprints, lives, and a packing of slot sets into memory spaces. No IR."""
