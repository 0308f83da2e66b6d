/* Instructions of warps and of threads. */
#include "ptxrun_observer.h"
#include <stdio.h>
#include <stdlib.h>

struct state { uint64_t warps, threads; };

static void *start(const ptxrun_launch *launch)
{
    printf("%s", launch->kernel);
    return calloc(1, sizeof(struct state));
}

static void instruction(void *p, const ptxrun_warp *warp)
{
    struct state *s = p;
    s->warps++;
    s->threads += __builtin_popcount(warp->lanes);
}

static void end(void *p)
{
    struct state *s = p;
    printf(": %llu warp instructions, %llu thread instructions\n",
           (unsigned long long)s->warps, (unsigned long long)s->threads);
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
