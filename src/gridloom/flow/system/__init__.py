"""A whole program on a core and an array: which loops are launched, the program for the core, the run, the table.

``compile``     a function's loops on the array, with short inner loops unrolled where that helps
``streams``     loops for arrays without memory units
``plan``        which loops of a compiled function are launched, on which hardware, with which images
``trip_counts`` how many iterations a counted loop will run, as IR
``launch_calls`` launches put into the IR of a function
``launch_c``    the C of each loop on the array
``host_access`` what the core touches between launches, which decides when data moves
``build``       the program for the core: IR, driver and main become one binary
``machines``    what runs a program: the hardware in Verilator, or the model that predicts it
``laps``        what each launched loop takes with the array and without
``program_data`` the words, the files and the input of a whole program
``run``         the program with the array and without, compared with native code; cycles by kind
``answer``      whether it pays off, on one screen
``project``     the folder that ``system -o`` writes
"""
