/* Shortest paths by a queue on the heap, over an adjacency matrix in a global. */
#include <stdio.h>
#include <stdlib.h>
#define NUM_NODES 12
#define NONE 9999
struct _NODE { int iDist; int iPrev; };
typedef struct _NODE NODE;
struct _QITEM { int iNode; int iDist; int iPrev; struct _QITEM *qNext; };
typedef struct _QITEM QITEM;
QITEM *qHead = NULL;
int AdjMatrix[NUM_NODES][NUM_NODES];
int g_qCount = 0;
NODE rgnNodes[NUM_NODES];
int ch, iPrev, iNode, i, iCost, iDist;
void enqueue(int iNode, int iDist, int iPrev) {
  QITEM *qNew = (QITEM *)malloc(sizeof(QITEM)), *qLast = qHead;
  if (!qNew) { fprintf(stderr, "Out of memory.\n"); exit(1); }
  qNew->iNode = iNode; qNew->iDist = iDist; qNew->iPrev = iPrev; qNew->qNext = NULL;
  if (!qLast) qHead = qNew;
  else { while (qLast->qNext) qLast = qLast->qNext; qLast->qNext = qNew; }
  g_qCount++;
}
void dequeue(int *piNode, int *piDist, int *piPrev) {
  QITEM *qKill = qHead;
  if (qHead) { *piNode = qHead->iNode; *piDist = qHead->iDist; *piPrev = qHead->iPrev; qHead = qHead->qNext; free(qKill); g_qCount--; }
}
int dijkstra(int chStart, int chEnd) {
  for (ch = 0; ch < NUM_NODES; ch++) { rgnNodes[ch].iDist = NONE; rgnNodes[ch].iPrev = NONE; }
  rgnNodes[chStart].iDist = 0;
  enqueue(chStart, 0, NONE);
  while (g_qCount > 0) {
    dequeue(&iNode, &iDist, &iPrev);
    for (i = 0; i < NUM_NODES; i++)
      if ((iCost = AdjMatrix[iNode][i]) != NONE)
        if ((NONE == rgnNodes[i].iDist) || (rgnNodes[i].iDist > (iCost + iDist))) {
          rgnNodes[i].iDist = iDist + iCost; rgnNodes[i].iPrev = iNode; enqueue(i, iDist + iCost, iNode);
        }
  }
  return rgnNodes[chEnd].iDist;
}
int main(void) {
  int a, b;
  for (a = 0; a < NUM_NODES; a++) for (b = 0; b < NUM_NODES; b++) AdjMatrix[a][b] = (a * 7 + b * 13) % 30 + 1;
  for (a = 0; a < 4; a++) printf("%d ", dijkstra(a, NUM_NODES - 1 - a));
  printf("\n");
  return 0;
}
