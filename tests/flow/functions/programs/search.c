/* A Boyer-Moore-Horspool search over several strings, with its skip table in a global. */
#include <stdio.h>
#include <string.h>
#include <limits.h>
static size_t table[UCHAR_MAX + 1];
static size_t len;
static char *findme;
void init_search(const char *string) {
  size_t i;
  len = strlen(string);
  for (i = 0; i <= UCHAR_MAX; i++) table[i] = len;
  for (i = 0; i < len; i++) table[(unsigned char)string[i]] = len - i - 1;
  findme = (char *)string;
}
char *strsearch(const char *string) {
  register size_t shift;
  register size_t pos = len - 1;
  char *here;
  size_t limit = strlen(string);
  while (pos < limit) {
    while (pos < limit && (shift = table[(unsigned char)string[pos]]) > 0) pos += shift;
    if (0 == shift) {
      if (0 == strncmp(findme, here = (char *)&string[pos - len + 1], len)) return here;
      else pos++;
    }
  }
  return NULL;
}
int main(void) {
  char *here;
  char *find_strings[] = {"abb", "you", "not", "it", "dad", "yoo", "hoo", NULL};
  char *search_strings[] = {"cabbie", "your", "It isn't here", "But it is here", "hodad", "yoohoo", "yoohoo"};
  int i;
  for (i = 0; find_strings[i]; i++) {
    init_search(find_strings[i]);
    here = strsearch(search_strings[i]);
    printf("\"%s\" is%s in \"%s\"\n", find_strings[i], here ? "" : " not", search_strings[i]);
  }
  return 0;
}
