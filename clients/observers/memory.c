/* Every access to global memory: line, block, warp, lane, address. */
#include "ptxrun_observer.h"
#include <stdio.h>

static void access(void *p, const ptxrun_access *a)
{
    (void)p;
    if (a->space > 1)
        return;
    for (int lane = 0; lane < 32; lane++)
        if (a->lanes >> lane & 1)
            printf("%u %u,%u,%u %u %d %c %u %#llx\n", a->instruction->line, a->block[0], a->block[1],
                   a->block[2], a->warp, lane, " rwu"[a->action], a->bytes,
                   (unsigned long long)a->addresses[lane]);
}

static void end(void *p)
{
    (void)p;
    fflush(stdout);
}

const ptxrun_observer_table *ptxrun_observer(uint32_t version)
{
    static const ptxrun_observer_table table = {
        PTXRUN_OBSERVER_VERSION, PTXRUN_ACCESSES, 0, 0, 0, access, end,
    };
    return version == PTXRUN_OBSERVER_VERSION ? &table : 0;
}
