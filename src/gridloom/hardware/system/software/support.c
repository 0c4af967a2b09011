/* What a program on the test system needs: time, printing, the end, and the cycles of the measured function. */
#include <stdint.h>
#ifdef GL_ON_ARRAY
#include "gridloom.h"
#endif

#define HOST(n) (*(volatile uint32_t *)(0xf0010000u + 4 * (n)))

static uint32_t depth, began, spent, calls;

uint32_t gl_cycle(void) { return HOST(0); }
void gl_letter(int c) { HOST(1) = (uint32_t)c; }
void gl_text(const char *s) { while (*s) gl_letter(*s++); }
void gl_word(uint32_t word) { HOST(3) = word; }
void gl_exit(int status) {
  HOST(2) = (uint32_t)status;
  for (;;) {}
}

static void named(const char *name, uint32_t word) {
  gl_text("#");
  gl_text(name);
  gl_text(" ");
  gl_word(word);
  gl_text("\n");
}

#ifdef GL_ON_ARRAY
static gl_counters before, total;
static uint32_t opened;

void gl_on_error(int error) {
  gl_text("gridloom: ");
  gl_text(gl_error_text(error));
  gl_text("\n");
  gl_exit(3);
}
#endif

/* Around the measured function. */
void gl_enter(void) {
#ifdef GL_ON_ARRAY
  if (!opened) {
    int error = gl_open();
    if (error) gl_on_error(error);
    opened = 1;
    gl_register_globals();
  }
  if (!depth) gl_read_counters(&before);
#endif
  if (!depth++) began = gl_cycle();
}

void gl_leave(void) {
  if (--depth) return;
  spent += gl_cycle() - began;
  calls++;
#ifdef GL_ON_ARRAY
  gl_counters now;
  gl_read_counters(&now);
  total.busy += now.busy - before.busy;
  total.stalled += now.stalled - before.stalled;
  total.configuring += now.configuring - before.configuring;
  total.loading += now.loading - before.loading;
  total.moving += now.moving - before.moving;
  total.transfer += now.transfer - before.transfer;
  total.waiting += now.waiting - before.waiting;
#endif
}

void gl_report(void) {
  named("cycles", spent);
  named("calls", calls);
#ifdef GL_ON_ARRAY
  named("busy", total.busy);
  named("stalled", total.stalled);
  named("configuring", total.configuring);
  named("loading", total.loading);
  named("moving", total.moving);
  named("transfer", total.transfer);
  named("waiting", total.waiting);
#endif
}

__attribute__((weak)) int gl_argc;
__attribute__((weak)) char **gl_argv;
int main(int, char **);
void gl_start(void) {
  int status = main(gl_argc, gl_argv);
  gl_report();
  gl_exit(status);
}
