"""Random nests of two loops, as C: what moves along rows and across them, what is carried, what meets in memory."""

from __future__ import annotations

import random

#: Arrays have room for indices up to ROOM on both sides of what a nest starts from.
ROOM = 2048


def generated_nest(seed: int) -> str:
    """The C of ``f(x, h, y, z, n, m, w)``: n rows, an inner loop up to m, rows of w elements.

    Indices are below ROOM for n up to 9, m up to 40 and w up to 50.
    """
    rng = random.Random(seed)
    first, step = rng.choice((0, 0, 1, 2)), rng.choice((1, 1, 1, -1))
    head = f"int k = {first}; k < m; k++" if step > 0 else f"int k = m; k > {first}; k--"
    lines = ["int f(const int *restrict x, const short *restrict h, int *restrict y, unsigned char *restrict z,",
             "      int n, int m, int w) {", "  int sum = 3, best = -1, place = 0;",
             f"  for (int i = {rng.choice((0, 0, 1, 3))}; i < n; i++) {{",
             f"    int near = i + {rng.randrange(4)};"]  # fmt: skip
    if rng.random() < 0.4:
        lines.append(f"    int row = {rng.choice(('i * 3', 'i', 'w - i'))};")
    else:
        lines.append("    int row = x[i];")
    if rng.random() < 0.5:
        lines.append(f"    y[{rng.choice(('0', 'i', 'i * w', 'i * w + 1'))}] = near + {rng.randrange(9)};")
    lines.append(f"    for ({head}) {{")
    lines += [f"      {line}" for line in _body(rng)]
    lines.append("    }")
    if rng.random() < 0.4:
        lines.append(f"    z[{rng.choice(('i', 'i * w + w - 1', '5'))}] = near ^ sum;")
    return "\n".join([*lines, "  }", "  return sum + 5 * best + 7 * place;", "}", ""])


def _body(rng: random.Random) -> list[str]:
    """Lines of the inner loop."""
    index = ("k", "k + 1", "i * w + k", "i * w + k + 2", "i + k", "(i + 1) * w + k", "i * 16 + k", "k + w")
    lines = [f"int a = x[{rng.choice(index)}] + h[{rng.choice(index)}];"]
    kinds = rng.sample(["sum", "best", "near", "y", "y2", "z"], k=rng.randrange(2, 5))
    for kind in kinds:
        if kind == "sum":
            lines.append(f"sum {rng.choice(('+=', '^=', '-='))} a * {rng.choice(('3', 'row', '(k + i)'))};")
        elif kind == "best":
            lines.append("if (a > best) { best = a; place = i * w + k; }")
        elif kind == "near":
            lines.append(rng.choice(("near += a;", "near = near < a ? near + 1 : a;", "near = (near ^ a) + row;")))
        elif kind == "y":
            place = rng.choice(index)
            values = ("a", "near", f"y[{place}] + a", f"y[{rng.choice(index)}] + row")
            lines.append(f"y[{place}] = {rng.choice(values)};")
        elif kind == "y2":
            lines.append(f"near += y[{rng.choice(index)}];")
        else:
            lines.append(f"z[{rng.choice(index)}] = a{rng.choice((' + near', '', ' * row'))};")
    if not {"sum", "best", "y", "z"} & set(kinds):
        lines.append("sum += near + a;")
    return lines
