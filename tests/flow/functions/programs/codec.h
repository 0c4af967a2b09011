#define CODEC_H
struct state { short valprev; char index; };
