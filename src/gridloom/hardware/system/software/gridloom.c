/* The driver of an array's system, without an operating system. Registers by name are in gridloom.h, which is generated.
 *
 * Every call returns 0, or the number of an error, which gl_error_text puts into words. Nothing waits for ever: the
 * system has a limit on waiting for its bus, and the driver a limit on waiting for the system. */
#include "gridloom.h"

#define REG GL_REGISTER

static const char *const names[] = GL_ERROR_TEXTS;
static uint32_t next_bank;
/* The image that each bank holds. */
static gl_image *owners[GL_BANKS];
/* Set while an image may be on its way whose end nobody has waited for. */
static uint32_t requested;
/* What registers hold: a word that is there already is not written again, since the bus is slower than memory. */
uint32_t gl_liveins[32];
uint32_t gl_loop, gl_iterations, gl_bank, gl_streams;
static uint32_t described[2][16][8];
/* Changes with every descriptor. */
uint32_t gl_described = 1;
/* Changes whenever the data memory comes to hold something else, or nothing that can be relied on. */
uint32_t gl_epoch = 1;
/* Set while the core's cache may hold what streams have written over in memory. */
uint32_t gl_stale;
/* Set while launches may be under way whose end nobody has waited for. */
uint32_t gl_flying;
#define GL_NONE 0xffffffffu

const char *gl_error_text(int error) {
  return error >= 0 && error < (int)(sizeof names / sizeof *names) && names[error] ? names[error] : "unknown error";
}

/* 0, or the error that the system reports; it is cleared. */
static int status(uint32_t *word) {
  uint32_t found = REG(GL_STATUS);
  *word = found;
  if (!(found & GL_STATUS_ENABLED)) return GL_ERROR_RESET;
  if (found & GL_STATUS_ERROR) {
    REG(GL_ERROR) = 0;
    return found >> 8 & 255;
  }
  return 0;
}

int gl_wait(uint32_t busy) {
  uint32_t word;
  for (uint32_t k = 0; k < GL_LIMIT; k++) {
    int error = status(&word);
    if (error) return error;
    if (!(word & busy)) return 0;
  }
  return GL_ERROR_DRIVER;
}

int gl_open(void) {
  if (REG(GL_ID) != GL_ID_VALUE || REG(GL_VERSION) != GL_VERSION_VALUE) return GL_ERROR_DRIVER;
  REG(GL_ERROR) = 0;
  REG(GL_CONTROL) = 3;
  for (uint32_t k = 0; k < 32; k++) REG(GL_LIVEIN + 4 * k) = gl_liveins[k] = 0;
  gl_iterations = gl_bank = gl_streams = GL_NONE;
  gl_flying = gl_stale = 0;
  for (uint32_t k = 0; k < 256; k++) (&described[0][0][0])[k] = GL_NONE;
  gl_described++;
  gl_loop = 0;
  next_bank = requested = 0;
  return 0;
}

void gl_stop(void) { REG(GL_CONTROL) = 5; }

/* ---- images ---- */

int gl_check_image(const uint32_t *image, uint32_t words) {
  uint32_t first = 0, second = 0;
  if (words < 10) return GL_ERROR_IMAGE_LENGTH;
  if (image[0] != GL_MAGIC) return GL_ERROR_IMAGE_MAGIC;
  if (image[1] != GL_VERSION_VALUE) return GL_ERROR_IMAGE_VERSION;
  if (image[2] != REG(GL_ARRAY)) return GL_ERROR_IMAGE_ARRAY;
  if (image[3] != words) return GL_ERROR_IMAGE_LENGTH;
  for (uint32_t k = 0; k < words - 2; k++) {
    first += image[k];
    second += first;
  }
  return image[words - 2] == first && image[words - 1] == second ? 0 : GL_ERROR_IMAGE_CHECKSUM;
}

int gl_load(const uint32_t *image, uint32_t words, uint32_t bank) {
  uint32_t word;
  REG(GL_LOAD_ADDRESS) = (uint32_t)image;
  REG(GL_LOAD_WORDS) = words;
  REG(GL_LOAD_BANK) = bank;
  return status(&word);
}

int gl_wait_load(void) { return gl_wait(GL_STATUS_LOADING); }

/* ---- data ---- */

static void tell(uint32_t at, uint32_t *held, uint32_t number, uint32_t word) {
  if (held[number] == word) return;
  REG(at + 4 * number) = held[number] = word;
  gl_described++;
}

static void describe(uint32_t at, uint32_t *held, const gl_pattern *p, uint32_t place) {
  tell(at, held, GL_ADDRESS / 4, (uint32_t)p->address);
  tell(at, held, GL_FORMAT / 4, p->format);
  tell(at, held, GL_COUNT / 4, p->count);
  tell(at, held, GL_STRIDE / 4, p->stride);
  tell(at, held, GL_ROWS / 4, p->rows);
  tell(at, held, GL_ROW_STRIDE / 4, p->row_stride);
  tell(at, held, GL_PLACE / 4, place);
}

void gl_stream(uint32_t side, uint32_t channel, uint32_t format, uint32_t count, uint32_t stride) {
  uint32_t at = (side ? GL_WRITE : GL_READ) + channel * GL_CHANNEL_BYTES, *held = described[side][channel];
  held[GL_ADDRESS / 4] = GL_NONE;
  tell(at, held, GL_FORMAT / 4, format);
  tell(at, held, GL_COUNT / 4, count);
  tell(at, held, GL_STRIDE / 4, stride);
  tell(at, held, GL_ROWS / 4, 1);
}

void gl_start_read(uint32_t channel, const gl_pattern *pattern, uint32_t place) {
  describe(GL_READ + channel * GL_CHANNEL_BYTES, described[0][channel], pattern, place);
  REG(GL_START) = 1u << channel;
}

void gl_start_write(uint32_t channel, const gl_pattern *pattern, uint32_t place) {
  describe(GL_WRITE + channel * GL_CHANNEL_BYTES, described[1][channel], pattern, place);
  REG(GL_START) = 1u << (16 + channel);
}

int gl_wait_channels(void) { return gl_wait(GL_STATUS_MOVING); }

/* ---- launches ---- */

/* What registers hold already is not written again. */
static void choose(uint32_t bank, uint32_t iterations, uint32_t streams) {
  if (iterations != gl_iterations) REG(GL_ITERATIONS) = gl_iterations = iterations;
  if (bank != gl_bank) REG(GL_BANK) = gl_bank = bank;
  if (streams != gl_streams) REG(GL_STREAMS) = gl_streams = streams;
}

void gl_launch(uint32_t bank, uint32_t iterations, uint32_t streams) {
  choose(bank, iterations, streams);
  gl_loop = 0;
  gl_go();
}

int gl_wait_launch(void) { return gl_wait(GL_STATUS_RUNNING); }

void gl_read_counters(gl_counters *c) {
  c->busy = REG(GL_BUSY);
  c->stalled = REG(GL_STALLED);
  c->configuring = REG(GL_CONFIGURING);
  c->loading = REG(GL_LOADING);
  c->moving = REG(GL_MOVING);
  c->transfer = REG(GL_TRANSFER);
  c->waiting = REG(GL_WAITING);
  c->cycles = REG(GL_CYCLES);
}

/* ---- loops of compiled functions ---- */

/* Pieces of memory that arrays lie in. */
typedef struct { uint32_t start, bytes; } piece;
/* Elements of a piece that the array's data memory holds. */
typedef struct {
  uint32_t piece, start, count, place;
  /* Bit j: shares bytes with resident j as other elements. */
  uint32_t overlaps;
  uint16_t stride;
  uint8_t format, valid;
} resident;

#define PIECES 64
#define RESIDENTS 24
static piece pieces[PIECES];
static uint32_t piece_count, resident_count, free_word = GL_SPILL_WORDS;
static resident residents[RESIDENTS];
/* Bit k: the data memory holds elements of resident k that memory does not have yet. */
uint32_t gl_dirty;
uint32_t gl_out[GL_OUTS];

__attribute__((weak)) void gl_on_error(int error) { (void)error; }

void gl_buffer(const void *start, uint32_t bytes) {
  for (uint32_t k = 0; k < piece_count; k++)
    if (pieces[k].start == (uint32_t)start) {
      pieces[k].bytes = bytes;
      return;
    }
  if (piece_count < PIECES) pieces[piece_count++] = (piece){(uint32_t)start, bytes};
}

void gl_drop(const void *start) {
  for (uint32_t k = 0; k < piece_count; k++)
    if (pieces[k].start == (uint32_t)start) pieces[k].bytes = 0;
}

static uint32_t find_piece(uint32_t address) {
  for (uint32_t k = 0; k < piece_count; k++)
    if (address - pieces[k].start < pieces[k].bytes) return k;
  return PIECES;
}

int gl_known(uint32_t first, uint32_t last) {
  uint32_t number = find_piece(first);
  return number != PIECES && last - pieces[number].start < pieces[number].bytes;
}

static inline void refresh_cache(void) { GL_REFRESH_CACHE; }

static gl_pattern pattern_of(const resident *r) {
  return (gl_pattern){(void *)r->start, r->format, r->count, r->stride, 1, 0};
}

/* Writes what a resident holds back to memory. The core's cache may hold older words afterwards. */
static int write_back(uint32_t number) {
  gl_epoch++;
  int error = gl_ready();
  if (error) return error;
  gl_pattern p = pattern_of(&residents[number]);
  /* The channel is described while the last launch still runs. */
  describe(GL_WRITE, described[1][0], &p, residents[number].place);
  if (gl_flying && (error = gl_idle())) return error;
  REG(GL_START) = 1u << 16;
  error = gl_wait_channels();
  gl_dirty &= ~(1u << number);
  return error;
}

int gl_flush(uint32_t number) {
  if (!(gl_dirty >> number & 1)) return 0;
  int error = write_back(number);
  refresh_cache();
  return error;
}

/* Wait for what is under way, and let memory and the core's cache have all of it; 0 or an error. With `forget`, nothing
 * of the data memory is relied on any more. What can be done before launches have ended is done first. */
static int settle_all(int forget) {
  int error = 0;
  if (forget) {
    for (uint32_t k = 0; k < resident_count; k++) residents[k].valid = 0;
    gl_epoch++;
  }
  /* The cache is emptied once for all of them. */
  uint32_t written = gl_dirty | gl_stale;
  for (uint32_t k = 0; gl_dirty && !error; k++)
    if (gl_dirty >> k & 1) error = write_back(k);
  if (gl_flying && !error) error = gl_idle();
  gl_stale = 0;
  if (written) refresh_cache();
  return error;
}

/* True where two resident sets of elements of one piece may share a byte. */
static int overlaps(const resident *a, const resident *b) {
  uint32_t size_a = 1u << (a->format & 3), size_b = 1u << (b->format & 3);
  if (a->piece != b->piece) return 0;
  if (a->stride != b->stride) return 1;
  uint32_t shift = (b->start - a->start + a->stride * 65536u) % a->stride;
  return shift < size_a || shift + size_b > a->stride;
}

/* The resident elements of an array; RESIDENTS where there is no room. */
static uint32_t find_resident(uint32_t piece_number, uint32_t start, uint32_t count, const gl_array *a) {
  for (uint32_t k = 0; k < resident_count; k++) {
    resident *r = &residents[k];
    if (r->start == start && r->stride == a->stride && r->format == a->format && r->count == count) return k;
  }
  if (resident_count == RESIDENTS || free_word + count > GL_MEMORY_WORDS) return RESIDENTS;
  gl_epoch++;
  resident *made = &residents[resident_count];
  *made = (resident){piece_number, start, count, free_word, 0, a->stride, a->format, 0};
  for (uint32_t k = 0; k < resident_count; k++)
    if (overlaps(made, &residents[k])) {
      made->overlaps |= 1u << k;
      residents[k].overlaps |= 1u << resident_count;
    }
  free_word += count;
  return resident_count++;
}

/* Give the array's elements a place. 0 where the array cannot have them. */
static int place_array(const gl_array *a, uint32_t pointer, gl_bound *b) {
  uint32_t address = pointer + a->offset, size = 1u << (a->format & 3);
  if (b->count && b->resident < resident_count && a->stride == size) {
    /* Most launches work on the elements of the launch before. */
    const resident *r = &residents[b->resident];
    uint32_t into = address - r->start;
    if (r->stride == size && r->format == a->format && into < r->count * size && !(into & (size - 1))) {
      b->first = into >> (a->format & 3);
      b->count = r->count;
      return pieces[r->piece].bytes != 0;
    }
  }
  uint32_t number = find_piece(address);
  if (number == PIECES) return 0;
  uint32_t into = address - pieces[number].start;
  uint32_t phase = a->stride == size ? into & (size - 1) : into % a->stride;
  if (pieces[number].bytes < phase + size) return 0;
  uint32_t room = pieces[number].bytes - phase - size;
  uint32_t count = (a->stride == size ? room >> (a->format & 3) : room / a->stride) + 1;
  uint32_t k = find_resident(number, pieces[number].start + phase, count, a);
  if (k == RESIDENTS) return 0;
  b->resident = k;
  b->first = a->stride == size ? (into - phase) >> (a->format & 3) : (into - phase) / a->stride;
  b->count = count;
  return 1;
}

/* Settle what two sets of elements of the same bytes hold. 0 where a loop may not have both. */
static int part_overlaps(const gl_array *arrays, gl_bound *bound, uint32_t count, uint32_t k) {
  resident *r = &residents[bound[k].resident];
  for (uint32_t j = 0; j < resident_count; j++) {
    if (!(r->overlaps >> j & 1)) continue;
    for (uint32_t i = 0; i < count; i++)
      if (arrays[i].used && bound[i].resident == j && (arrays[i].written || arrays[k].written)) return 0;
    int error = gl_flush(j);
    if (error) return gl_fail(error);
    if (arrays[k].written) residents[j].valid = 0;
    gl_epoch++;
  }
  return 1;
}

/* Begin to bring an array while the others are placed, where nothing speaks against it. */
static int bring_early(const gl_array *a, const gl_bound *b) {
  resident *r = &residents[b->resident];
  if (r->valid || r->overlaps || a->host_writes || gl_flying) return 0;
  int error = gl_wait_channels();
  if (error) return error;
  gl_pattern p = pattern_of(r);
  gl_start_read(0, &p, r->place);
  r->valid = 1;
  return 0;
}

int gl_bind(const gl_array *arrays, const uint32_t *pointers, gl_bound *bound, uint32_t count) {
  for (uint32_t again = 0;; again++) {
    uint32_t k, first = 1;
    int error = 0;
    for (k = 0; k < count; k++) {
      if (!arrays[k].used) continue;
      if (!place_array(&arrays[k], pointers[k], &bound[k])) break;
      if (first && (error = bring_early(&arrays[k], &bound[k]))) return gl_fail(error);
      first = 0;
    }
    if (k == count) break;
    /* The data memory is full: what it holds goes back, and this loop has all of it. */
    if (again || find_piece(pointers[k] + arrays[k].offset) == PIECES) return 0;
    error = gl_wait_channels();
    if (!error) error = settle_all(1);
    if (error) return gl_fail(error);
    resident_count = 0;
    free_word = GL_SPILL_WORDS;
  }
  for (uint32_t k = 0; k < count; k++)
    if (arrays[k].used && residents[bound[k].resident].overlaps && !part_overlaps(arrays, bound, count, k)) return 0;
  return 1;
}

int gl_bring(const gl_array *arrays, gl_bound *bound, uint32_t count) {
  for (uint32_t k = 0; k < count; k++) {
    if (!arrays[k].used) continue;
    resident *r = &residents[bound[k].resident];
    if (arrays[k].host_writes && !(gl_dirty >> bound[k].resident & 1)) r->valid = 0;
    if (!r->valid) {
      gl_epoch++;
      gl_pattern p = pattern_of(r);
      /* A launch that is under way may work on what lies there. */
      int error = gl_flying ? gl_idle() : gl_wait_channels();
      if (error) return error;
      gl_start_read(0, &p, r->place);
      r->valid = 1;
    }
    gl_set_livein(arrays[k].base, r->place + bound[k].first);
  }
  return 0;
}

int gl_settle(const gl_array *arrays, gl_bound *bound, uint32_t count) {
  for (uint32_t k = 0; k < count; k++)
    if (arrays[k].used && arrays[k].written) gl_dirty |= 1u << bound[k].resident;
  for (uint32_t k = 0; k < count; k++)
    if (arrays[k].used && arrays[k].written && (arrays[k].host_reads || arrays[k].host_writes)) {
      int error = gl_flush(bound[k].resident);
      if (error) return error;
    }
  return 0;
}

void gl_remember(const gl_array *arrays, const gl_bound *bound, gl_window *windows, uint32_t count) {
  for (uint32_t k = 0; k < count; k++) {
    const resident *r = &residents[bound[k].resident];
    if (arrays[k].used) windows[k] = (gl_window){r->start, r->count * r->stride, r->place};
  }
}

/* Begin to load an image into a bank of its own, once no other one is being loaded. */
static inline int request(gl_image *image) {
  int error = requested ? gl_wait_load() : 0;
  uint32_t bank = next_bank % GL_BANKS;
  /* The image that was there may still run, and has to be loaded again before it is launched again. */
  if (owners[bank] && gl_flying && !error) error = gl_idle();
  if (error) return error;
  if (owners[bank]) owners[bank]->loaded = owners[bank]->loading = gl_loop = 0;
  owners[bank] = image;
  next_bank++;
  requested = 1;
  image->bank = bank;
  image->loading = 1;
  return gl_load(image->words, image->count, image->bank);
}

int gl_request(gl_image *image) { return request(image); }

int gl_take(gl_image *image, uint32_t loop, uint32_t iterations, uint32_t streams) {
  int error;
  if (!image->loaded) {
    if (!image->loading && (error = request(image))) return error;
    if ((error = gl_wait_load())) return error;
    requested = 0;
    image->loaded = 1;
  }
  choose(image->bank, iterations, streams);
  gl_loop = loop;
  return 0;
}

int gl_prefetch(gl_image *image) {
  gl_image *next = image->next;
  image->next = 0;
  return !next || next->loading ? 0 : request(next);
}

int gl_run(gl_image *image, uint32_t loop, uint32_t iterations) {
  int error = gl_take(image, loop, iterations, 0);
  if (error) return error;
  gl_go();
  if ((error = gl_prefetch(image))) return error;
  return gl_idle();
}

int gl_fail(int error) {
  gl_stop();
  /* Nothing that the array holds is right any more. */
  for (uint32_t k = 0; k < resident_count; k++) residents[k].valid = 0;
  gl_dirty = 0;
  gl_epoch++;
  gl_flying = 0;
  gl_on_error(error);
  return 0;
}

int gl_decline(void) {
  int error = settle_all(1);
  return error ? gl_fail(error) : 0;
}

void gl_sync(void) {
  int error = settle_all(0);
  if (error) gl_fail(error);
}

void gl_end(void) { gl_decline(); }
