"""The C side of a system: the generated header with registers by name, and the driver that comes with it."""

from __future__ import annotations

from importlib import resources
from typing import Final

from gridloom.hardware.system.image import MAGIC
from gridloom.hardware.system.parameters import System
from gridloom.hardware.system.registers import CHANNEL_BYTES, DESCRIPTOR, ERRORS, ID, REGISTERS, VERSION

#: Where the test system has the registers.
BASE: Final = 0xF0000000
_STATUS: Final = ("ENABLED", "RUNNING", "CONFIGURING", "LOADING", "DRAINING", "ERROR", "PENDING", "MOVING")
_CALLS: Final = """
typedef struct { void *address; uint32_t format, count, stride, rows, row_stride; } gl_pattern;
typedef struct { uint32_t busy, stalled, configuring, loading, moving, transfer, waiting, cycles; } gl_counters;

/* Every call that returns int returns 0 or the number of an error. */
int gl_open(void);
void gl_stop(void);
const char *gl_error_text(int error);
int gl_check_image(const uint32_t *image, uint32_t words);
int gl_load(const uint32_t *image, uint32_t words, uint32_t bank);
int gl_wait_load(void);
void gl_start_read(uint32_t channel, const gl_pattern *pattern, uint32_t place);
void gl_start_write(uint32_t channel, const gl_pattern *pattern, uint32_t place);
int gl_wait_channels(void);
#define GL_REGISTER(address) (*(volatile uint32_t *)(GL_BASE + (address)))
extern uint32_t gl_liveins[];
static inline void gl_set_livein(uint32_t number, uint32_t word) {
  if (gl_liveins[number] != word) GL_REGISTER(GL_LIVEIN + 4 * number) = gl_liveins[number] = word;
}
static inline uint32_t gl_liveout(uint32_t number) { return GL_REGISTER(GL_LIVEOUT + 4 * number); }
/* A launch waits for the one before it. Until it is set up, nothing of the next one may be written: see gl_ready. */
void gl_launch(uint32_t bank, uint32_t iterations, uint32_t streams);
int gl_wait_launch(void);
int gl_wait(uint32_t busy);
extern uint32_t gl_out[], gl_epoch, gl_stale, gl_flying, gl_loop, gl_iterations, gl_bank, gl_streams, gl_described;
#define GL_RARELY(condition) __builtin_expect(!!(condition), 0)
/* Waits until the live-ins and descriptors of the next launch may be written. */
static inline int gl_ready(void) {
  if (!gl_flying) return 0;
  uint32_t found = GL_REGISTER(GL_STATUS) & (GL_STATUS_ENABLED | GL_STATUS_ERROR | GL_STATUS_PENDING);
  return GL_RARELY(found != GL_STATUS_ENABLED) ? gl_wait(GL_STATUS_PENDING) : 0;
}
/* Waits until nothing is under way: all launches have ended, and all that they wrote is in memory. */
static inline int gl_idle(void) {
  const uint32_t busy = GL_STATUS_RUNNING | GL_STATUS_MOVING;
  /* Most launches end within a few reads. gl_wait takes over then, and looks for errors, too: a bus that hangs leaves
   * its channel busy. */
  uint32_t found, left = 4095;
  do found = GL_REGISTER(GL_STATUS);
  while ((found & busy) && --left);
  if (GL_RARELY((found & (busy | GL_STATUS_ENABLED | GL_STATUS_ERROR)) != GL_STATUS_ENABLED)) {
    int error = gl_wait(busy);
    if (error) return error;
  }
  gl_flying = 0;
  return 0;
}
void gl_read_counters(gl_counters *counters);

/* Memory that loops on the array may work on; an array outside of all of it stays with the core. */
void gl_buffer(const void *start, uint32_t bytes);
void gl_drop(const void *start);
/* Whether two addresses lie in one piece of that memory. */
int gl_known(uint32_t first, uint32_t last);
/* What the program does about an error. It may return, and the core then runs the loop; but loops that were launched
 * before in the same function, and whose end nobody waited for, have not left what they should. */
void gl_on_error(int error);

/* What the generated code of a loop uses. */
typedef struct gl_image {
  const uint32_t *words;
  uint32_t count, bank, loaded, loading;
  /* The image of the loop that comes next; 0 once that is on its way. */
  struct gl_image *next;
} gl_image;
typedef struct {
  int32_t offset;
  uint16_t stride;
  uint8_t format, base, used, written, host_reads, host_writes;
} gl_array;
typedef struct { uint32_t resident, first, count; } gl_bound;
/* Describes the stream of a loop: side 0 feeds the array, side 1 drains it. Its address is written for each launch. */
void gl_stream(uint32_t side, uint32_t channel, uint32_t format, uint32_t count, uint32_t stride);
/* Where the elements of an array lie: in memory, and in the data memory. */
typedef struct { uint32_t start, bytes, place; } gl_window;
void gl_remember(const gl_array *arrays, const gl_bound *bound, gl_window *windows, uint32_t count);
int gl_bind(const gl_array *arrays, const uint32_t *pointers, gl_bound *bound, uint32_t count);
int gl_bring(const gl_array *arrays, gl_bound *bound, uint32_t count);
int gl_settle(const gl_array *arrays, gl_bound *bound, uint32_t count);
/* Brings what a resident holds back to memory. */
int gl_flush(uint32_t resident);
extern uint32_t gl_dirty;
/* An element that a launch needs before it begins. */
static inline int32_t gl_element(const gl_array *a, const gl_bound *b, uint32_t pointer, int32_t index) {
  if ((uint32_t)index + b->first >= b->count) return 0;
  if (GL_RARELY(gl_dirty >> b->resident & 1)) gl_flush(b->resident);
  const char *at = (const char *)(pointer + a->offset) + index * (int32_t)a->stride;
  switch (a->format) {
    case 0: return *(const uint8_t *)at;
    case 4: return *(const int8_t *)at;
    case 1: return *(const uint16_t *)at;
    case 5: return *(const int16_t *)at;
    default: return *(const int32_t *)at;
  }
}
/* Lets the next launches be those of a loop with so many iterations. */
int gl_take(gl_image *image, uint32_t loop, uint32_t iterations, uint32_t streams);
/* Begins to load an image; waits for one that is being loaded. */
int gl_request(gl_image *image);
/* Begins to load the image of the loop that comes next, where that has not been done. */
int gl_prefetch(gl_image *image);
/* Launches the loop that was taken. Does not wait for its end. */
static inline void gl_go(void) {
  GL_REGISTER(GL_LAUNCH) = 1;
  gl_flying = 1;
}
int gl_run(gl_image *image, uint32_t loop, uint32_t iterations);
/* Lets the core see what launches have left so far. */
void gl_sync(void);
int gl_fail(int error);
int gl_decline(void);
void gl_end(void);
"""


def header_text(system: System, *, spill_words: int = 0, outs: int = 1, base: int = BASE) -> str:
    """The header of a system: register addresses, errors, sizes and the calls of the driver.

    ``spill_words`` of the data memory are kept for spilled values, and ``outs`` words for what loops leave.
    """
    lines = [f"/* Registers of the system around array {system.hardware.arch.name}. Generated. */"]
    lines += ["#ifndef GRIDLOOM_H", "#define GRIDLOOM_H", "#include <stdint.h>", ""]
    lines += ["#ifndef GL_BASE", f"#define GL_BASE 0x{base:08x}u", "#endif"]
    lines += [f"#define GL_{r.name} 0x{r.address:03x} /* {r.meaning} */" for r in REGISTERS]
    lines += [f"#define GL_CHANNEL_BYTES {CHANNEL_BYTES}"]
    lines += [f"#define GL_{name} {4 * k} /* {meaning} */" for k, (name, meaning) in enumerate(DESCRIPTOR)]
    lines += [f"#define GL_STATUS_{name} {1 << k}u" for k, name in enumerate(_STATUS)]
    lines += [f"#define GL_ERROR_{name} {number} /* {meaning} */" for number, (name, meaning) in ERRORS.items()]
    texts = ", ".join(f'[{number}] = "{name}: {meaning}"' for number, (name, meaning) in ERRORS.items())
    lines += ['#define GL_ERROR_TEXTS { [0] = "no error", ' + texts + " }"]
    sizes = {
        "ID_VALUE": f"0x{ID:08x}u", "VERSION_VALUE": f"{VERSION}u", "MAGIC": f"0x{MAGIC:08x}u",
        "ARRAY_VALUE": f"0x{system.array_id:08x}u", "BANKS": f"{system.parameters.banks}u",
        "MEMORY_WORDS": f"{system.memory_words}u", "SPILL_WORDS": f"{spill_words}u", "OUTS": f"{outs}",
    }  # fmt: skip
    lines += [f"#define GL_{name} {value}" for name, value in sizes.items()]
    lines += ["/* Reads of a status register before the driver gives up. */", "#ifndef GL_LIMIT"]
    lines += ["#define GL_LIMIT 1000000u", "#endif"]
    # The core of the test system has a cache that does not see what others write; this instruction empties it.
    lines += ["#ifndef GL_REFRESH_CACHE", '#define GL_REFRESH_CACHE __asm__ volatile(".word 0x500f" ::: "memory")']
    lines += ["#endif", _CALLS.rstrip(), "#endif", ""]
    return "\n".join(lines)


def software_text(name: str) -> str:
    """The text of a file of the driver: ``gridloom.c``, ``start.S`` or ``memory.ld``."""
    return (resources.files("gridloom.hardware.system") / "software" / name).read_text(encoding="utf-8")
