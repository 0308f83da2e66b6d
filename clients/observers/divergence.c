/* Lines at which lanes of a warp are missing: how often, and how many lanes execute there on average. */
#include "ptxrun_observer.h"
#include <stdio.h>
#include <stdlib.h>

struct row { uint32_t line; uint64_t issues, partial, lanes; };
struct state { uint32_t count; struct row rows[]; };

static void *start(const ptxrun_launch *launch)
{
    struct state *s = calloc(1, sizeof(struct state) + launch->instructions * sizeof(struct row));
    s->count = launch->instructions;
    return s;
}

static void instruction(void *p, const ptxrun_warp *warp)
{
    struct state *s = p;
    struct row *row = &s->rows[warp->instruction->number];
    row->line = warp->instruction->line;
    row->issues++;
    row->partial += warp->active != 0xffffffff;
    row->lanes += __builtin_popcount(warp->active);
}

static void end(void *p)
{
    struct state *s = p;
    for (uint32_t n = 0; n < s->count; n++)
        if (s->rows[n].partial)
            printf("line %u: %llu of %llu issues without all lanes, %.1f lanes on average\n", s->rows[n].line,
                   (unsigned long long)s->rows[n].partial, (unsigned long long)s->rows[n].issues,
                   (double)s->rows[n].lanes / s->rows[n].issues);
    fflush(stdout);
    free(s);
}

const ptxrun_observer_table *ptxrun_observer(uint32_t version)
{
    static const ptxrun_observer_table table = {
        PTXRUN_OBSERVER_VERSION, PTXRUN_INSTRUCTIONS, start, 0, instruction, 0, end,
    };
    return version == PTXRUN_OBSERVER_VERSION ? &table : 0;
}
