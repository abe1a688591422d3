"""Statements and control flow: what names stand for inside loops and branches, and behind them."""
