// Which points no other point beats in two figures at once.

// `points` are { x, y }; `more` says for each axis whether larger is better.
export function front(points, more) {
  const better = (a, b, larger) => (larger ? a > b : a < b);
  const beats = (p, q) =>
    !better(q.x, p.x, more[0]) && !better(q.y, p.y, more[1]) && (better(p.x, q.x, more[0]) || better(p.y, q.y, more[1]));
  return points.filter((point) => !points.some((other) => beats(other, point))).sort((a, b) => a.x - b.x);
}
