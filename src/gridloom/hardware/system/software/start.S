/* The first instructions: the stack, zeroed variables, then the program. What main returns ends the simulation. */
    .section .start, "ax"
    .globl _start
_start:
    la sp, gl_stack_top
    la t0, gl_bss_start
    la t1, gl_bss_end
1:  bgeu t0, t1, 2f
    sw zero, 0(t0)
    addi t0, t0, 4
    j 1b
2:  call gl_start
3:  j 3b
