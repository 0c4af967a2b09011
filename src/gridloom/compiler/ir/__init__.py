"""LLVM IR: the compiler that writes it, its reader, its records and the layout of its types."""
