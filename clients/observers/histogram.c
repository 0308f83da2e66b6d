/* How often each opcode is issued, and by how many lanes. */
#include "ptxrun_observer.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct row { const char *opcode; uint64_t warps, lanes; };
struct state { struct row rows[512]; int count; };

static void *start(const ptxrun_launch *launch)
{
    printf("%s\n", launch->kernel);
    return calloc(1, sizeof(struct state));
}

static void instruction(void *p, const ptxrun_warp *warp)
{
    struct state *s = p;
    int n = 0;
    while (n < s->count && strcmp(s->rows[n].opcode, warp->instruction->opcode))
        n++;
    if (n == 512)
        return;
    if (n == s->count)
        s->rows[s->count++].opcode = warp->instruction->opcode;
    s->rows[n].warps++;
    s->rows[n].lanes += __builtin_popcount(warp->active);
}

static int more(const void *a, const void *b)
{
    const struct row *x = a, *y = b;
    return x->warps < y->warps ? 1 : x->warps > y->warps ? -1 : strcmp(x->opcode, y->opcode);
}

static void end(void *p)
{
    struct state *s = p;
    qsort(s->rows, s->count, sizeof(struct row), more);
    for (int n = 0; n < s->count; n++)
        printf("  %-24s %10llu warps %10llu lanes\n", s->rows[n].opcode,
               (unsigned long long)s->rows[n].warps, (unsigned long long)s->rows[n].lanes);
    free(s);
    fflush(stdout);
}

const ptxrun_observer_table *ptxrun_observer(uint32_t version)
{
    static const ptxrun_observer_table table = {
        PTXRUN_OBSERVER_VERSION, PTXRUN_INSTRUCTIONS, start, 0, instruction, 0, end,
    };
    return version == PTXRUN_OBSERVER_VERSION ? &table : 0;
}
