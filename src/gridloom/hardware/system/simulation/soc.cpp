// Runs the test system until it ends itself.
#include "Vgridloom_soc.h"
#include "verilated.h"

int main(int argc, char **argv) {
  Verilated::commandArgs(argc, argv);
  Vgridloom_soc top;
  top.rst = 1;
  for (unsigned long cycle = 0; !Verilated::gotFinish(); cycle++) {
    if (cycle == 8) top.rst = 0;
    top.clk = 0; top.eval();
    top.clk = 1; top.eval();
  }
  top.final();
  return 0;
}
