"""Which trips of a loop may run side by side: index terms of two trips compared, and what an order must keep. No IR."""
