"""The C side of a system: the generated header with registers by name, and the driver that comes with it."""

from __future__ import annotations

from importlib import resources
from typing import Final

from gridloom.hardware.system.image import MAGIC
from gridloom.hardware.system.parameters import System
from gridloom.hardware.system.registers import CHANNEL_BYTES, DESCRIPTOR, ERRORS, ID, REGISTERS, VERSION

#: Where the test system has the registers.
BASE: Final = 0xF0000000
_STATUS: Final = ("ENABLED", "RUNNING", "CONFIGURING", "LOADING", "DRAINING", "ERROR")
_CALLS: Final = """
typedef struct { void *address; uint32_t format, count, stride, rows, row_stride; } gl_pattern;
typedef struct { uint32_t busy, stalled, configuring, loading, moving, cycles; } gl_counters;

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
void gl_launch(uint32_t bank, uint32_t iterations);
int gl_wait_launch(void);
void gl_read_counters(gl_counters *counters);

/* Memory that loops on the array may work on; an array outside of all of it stays with the core. */
void gl_buffer(const void *start, uint32_t bytes);
void gl_drop(const void *start);
/* What the program does about an error; it may return, and the core then runs the loop. */
void gl_on_error(int error);

/* What the generated code of a loop uses. */
typedef struct gl_image {
  const uint32_t *words;
  uint32_t count, bank, loaded, loading;
  struct gl_image *next;
} gl_image;
typedef struct {
  int32_t offset;
  uint16_t stride;
  uint8_t format, base, used, written, host_reads, host_writes;
} gl_array;
typedef struct { uint32_t resident, first, count; } gl_bound;
/* Which loop a channel serves, and its last count and stride. */
typedef struct { uint32_t owner, count, stride; } gl_channel;
extern gl_channel gl_channels[2][16];
void gl_take_channel(uint32_t side, uint32_t channel, uint32_t owner, uint32_t format);
/* Describe the stream of a loop: side 0 feeds the array, side 1 drains it. Only what changes is written. */
static inline void gl_stream(uint32_t side, uint32_t channel, uint32_t owner, uint32_t format, uint32_t address,
                             uint32_t count, uint32_t stride) {
  uint32_t at = (side ? GL_WRITE : GL_READ) + channel * GL_CHANNEL_BYTES;
  gl_channel *c = &gl_channels[side][channel];
  if (c->owner != owner) gl_take_channel(side, channel, owner, format);
  if (c->count != count) GL_REGISTER(at + GL_COUNT) = c->count = count;
  if (c->stride != stride) GL_REGISTER(at + GL_STRIDE) = c->stride = stride;
  GL_REGISTER(at + GL_ADDRESS) = address;
}
/* Where the elements of an array lie: in memory, and in the data memory. */
typedef struct { uint32_t start, bytes, place; } gl_window;
extern uint32_t gl_out[], gl_epoch, gl_stale;
/* Sets the places of the arrays where they lie as at the launch before; 0 where the driver has to look. */
static inline int gl_again(const gl_array *arrays, const uint32_t *pointers, gl_bound *bound, const gl_window *windows,
                           uint32_t count) {
  for (uint32_t k = 0; k < count; k++) {
    if (!arrays[k].used) continue;
    uint32_t into = pointers[k] + arrays[k].offset - windows[k].start, bits = arrays[k].format & 3;
    if (arrays[k].stride != 1u << bits || into >= windows[k].bytes || (into & (arrays[k].stride - 1))) return 0;
    bound[k].first = into >> bits;
    gl_set_livein(arrays[k].base, windows[k].place + (into >> bits));
  }
  return 1;
}
void gl_remember(const gl_array *arrays, const gl_bound *bound, gl_window *windows, uint32_t count);
int gl_bind(const gl_array *arrays, const uint32_t *pointers, gl_bound *bound, uint32_t count);
int gl_bring(const gl_array *arrays, gl_bound *bound, uint32_t count);
int gl_settle(const gl_array *arrays, gl_bound *bound, uint32_t count);
int32_t gl_element(const gl_array *array, const gl_bound *bound, uint32_t pointer, int32_t index);
int gl_run(gl_image *image, uint32_t iterations);
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
