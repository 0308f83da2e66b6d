/* Instructions of warps and of threads, and the five instructions that were issued most often. */
#include "ptxrun_observer.h"
#include <stdio.h>
#include <stdlib.h>

static void *start(const ptxrun_launch *launch)
{
    printf("%s", launch->kernel);
    return 0;
}

static void counts(void *state, const ptxrun_counts *c)
{
    char *shown = calloc(c->count, 1);
    printf(": %llu warp instructions, %llu thread instructions\n",
           (unsigned long long)c->warp_instructions, (unsigned long long)c->thread_instructions);
    for (int n = 0; n < 5; n++) {
        uint32_t most = c->count;
        for (uint32_t i = 0; i < c->count; i++)
            if (!shown[i] && c->issues[i] && (most == c->count || c->issues[i] > c->issues[most]))
                most = i;
        if (most == c->count)
            break;
        shown[most] = 1;
        printf("%12llu  line %u: %s\n", (unsigned long long)c->issues[most],
               c->instructions[most].line, c->instructions[most].text);
    }
    free(shown);
    fflush(stdout);
}

const ptxrun_observer_table *ptxrun_observer(uint32_t version)
{
    static const ptxrun_observer_table table = {
        PTXRUN_OBSERVER_VERSION, PTXRUN_COUNTS, start, 0, 0, 0, 0, counts,
    };
    return version == PTXRUN_OBSERVER_VERSION ? &table : 0;
}
