/* A coder of 4-bit ADPCM in the manner of Intel and DVI: a state that is carried by pointer, tables, no restrict. */
#include <stdio.h>
#ifndef CODEC_H
#include "codec.h"
#endif

static int indexTable[16] = {-1, -1, -1, -1, 2, 4, 6, 8, -1, -1, -1, -1, 2, 4, 6, 8};
static int stepsizeTable[89] = {
  7, 8, 9, 10, 11, 12, 13, 14, 16, 17, 19, 21, 23, 25, 28, 31, 34, 37, 41, 45, 50, 55, 60, 66, 73, 80, 88, 97, 107,
  118, 130, 143, 157, 173, 190, 209, 230, 253, 279, 307, 337, 371, 408, 449, 494, 544, 598, 658, 724, 796, 876, 963,
  1060, 1166, 1282, 1411, 1552, 1707, 1878, 2066, 2272, 2499, 2749, 3024, 3327, 3660, 4026, 4428, 4871, 5358, 5894,
  6484, 7132, 7845, 8630, 9493, 10442, 11487, 12635, 13899, 15289, 16818, 18500, 20350, 22385, 24623, 27086, 29794,
  32767};

void coder(indata, outdata, len, state)
  short indata[];
  char outdata[];
  int len;
  struct state *state;
{
  short *inp = indata;
  signed char *outp = (signed char *)outdata;
  int val, sign, delta, diff, step, valpred = state->valprev, vpdiff, index = state->index, outputbuffer = 0;
  int bufferstep = 1;
  step = stepsizeTable[index];
  for (; len > 0; len--) {
    val = *inp++;
    diff = val - valpred;
    sign = (diff < 0) ? 8 : 0;
    if (sign) diff = (-diff);
    delta = 0;
    vpdiff = (step >> 3);
    if (diff >= step) { delta = 4; diff -= step; vpdiff += step; }
    step >>= 1;
    if (diff >= step) { delta |= 2; diff -= step; vpdiff += step; }
    step >>= 1;
    if (diff >= step) { delta |= 1; vpdiff += step; }
    if (sign) valpred -= vpdiff; else valpred += vpdiff;
    if (valpred > 32767) valpred = 32767;
    else if (valpred < -32768) valpred = -32768;
    delta |= sign;
    index += indexTable[delta];
    if (index < 0) index = 0;
    if (index > 88) index = 88;
    step = stepsizeTable[index];
    if (bufferstep) outputbuffer = (delta << 4) & 0xf0;
    else *outp++ = (delta & 0x0f) | outputbuffer;
    bufferstep = !bufferstep;
  }
  if (!bufferstep) *outp++ = outputbuffer;
  state->valprev = valpred;
  state->index = index;
}

short pcm[256];
char coded[128];
struct state coder_state;

main()
{
  int k;
  unsigned seed = 7;
  for (k = 0; k < 256; k++) { seed = seed * 1103515245 + 12345; pcm[k] = (short)(seed >> 17); }
  coder(pcm, coded, 256, &coder_state);
  seed = 0;
  for (k = 0; k < 128; k++) seed = seed * 31 + (coded[k] & 255);
  printf("%u %d %d\n", seed, coder_state.valprev, coder_state.index);
  return 0;
}
