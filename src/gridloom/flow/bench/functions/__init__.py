"""Suites of whole functions: what data they run on, and what a run says about cycles and values."""
