"""Random whole programs: two to five functions that call each other and work on arrays of the file."""

from __future__ import annotations

import random

_ARRAYS = ("a", "b", "c")
_BODIES = (
    "for (i = 0; i < {n}; i++) {x}[i] = {y}[i] * {k} + {z}[i];",
    "for (i = 1; i < {n}; i++) {x}[i] = ({y}[i] >> {s}) - {y}[i - 1];",
    "for (i = 0; i < {n}; i++) t += {x}[i] & {k};",
    "for (i = 0; i < {n}; i++) if ({y}[i] > {k}) {x}[i] = {y}[i] ^ t; else t++;",
    "for (i = 0; i < {m}; i++) {{ int s = 0; for (j = 0; j < {m}; j++) s += {y}[i * {m} + j] * {z}[j]; {x}[i] = s; }}",
    "for (i = 0; i < {n} && {y}[i] != {k}; i++) t += i;",
    "for (i = {n} - 1; i >= 0; i--) {{ t = t * 3 + {y}[i]; {x}[i] = (short)t; }}",
)


def generated_program(seed: int) -> str:
    """The text of a program that prints what its functions return and leave."""
    choose = random.Random(seed)
    count = choose.randint(2, 5)
    lines = ["#include <stdio.h>", *(f"static int {name}[300];" for name in _ARRAYS)]
    for k in range(count):
        quality = choose.choice(["static ", "", "__attribute__((noinline)) "])
        lines.append(f"{quality}int f{k}(int p) {{ int i, j, t = p; (void)j;")
        for _ in range(choose.randint(1, 3)):
            x, y, z = (choose.choice(_ARRAYS) for _ in range(3))
            words = {"x": x, "y": y, "z": z, "n": choose.randint(20, 290), "m": choose.randint(3, 17),
                     "k": choose.randint(-9, 99), "s": choose.randint(1, 4)}  # fmt: skip
            lines.append(f"  {choose.choice(_BODIES).format(**words)}")
            if k and choose.random() < 0.5:
                lines.append(f"  t += f{choose.randrange(k)}(t & 15);")
        lines.append("  return t; }")
    lines += ["int main(void) {", "  int i, all = 0;",
              "  for (i = 0; i < 300; i++) { a[i] = i * 7 % 31 - 9; b[i] = i * i % 53; c[i] = 40 - i; }"]  # fmt: skip
    lines += [f'  printf("%d\\n", f{k}({choose.randint(0, 9)}));' for k in range(count)]
    lines += ["  for (i = 0; i < 300; i++) all = all * 31 + a[i] + 3 * b[i] + 5 * c[i];", '  printf("%d\\n", all);',
              "  return 0;", "}", ""]  # fmt: skip
    return "\n".join(lines)
