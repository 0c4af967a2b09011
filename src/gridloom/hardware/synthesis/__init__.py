"""Area and logic levels of the generated hardware, measured with Yosys, and the benchmark of areas."""
