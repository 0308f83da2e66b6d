/* Reuse distance: how many other 128-byte lines of global memory were touched since a line was touched last, by powers of
   two. Lines are kept in the order of their last use, so this is for small kernels. */
#include "ptxrun_observer.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct state { uint64_t *lines; size_t count, room; uint64_t first, by_log[64]; };

static void *start(const ptxrun_launch *launch)
{
    (void)launch;
    return calloc(1, sizeof(struct state));
}

static void touch(struct state *s, uint64_t line)
{
    size_t n = s->count;
    while (n > 0 && s->lines[n - 1] != line)
        n--;
    if (n == 0) {
        s->first++;
        if (s->count == s->room) {
            s->room = s->room ? 2 * s->room : 1024;
            s->lines = realloc(s->lines, s->room * sizeof *s->lines);
        }
        s->lines[s->count++] = line;
        return;
    }
    size_t distance = s->count - n;
    s->by_log[distance ? 64 - __builtin_clzll(distance) : 0]++;
    memmove(&s->lines[n - 1], &s->lines[n], distance * sizeof *s->lines);
    s->lines[s->count - 1] = line;
}

static void access(void *p, const ptxrun_access *a)
{
    uint64_t last = ~0ull;
    if (a->space > 1)
        return;
    for (int lane = 0; lane < 32; lane++) {
        uint64_t line = a->addresses[lane] / 128;
        if (a->lanes >> lane & 1 && line != last)
            touch(p, line);
        last = a->lanes >> lane & 1 ? line : last;
    }
}

static void end(void *p)
{
    struct state *s = p;
    printf("first touches: %llu\n", (unsigned long long)s->first);
    for (int n = 0; n < 64; n++)
        if (s->by_log[n])
            printf("distance below %llu: %llu\n", 1ull << n, (unsigned long long)s->by_log[n]);
    fflush(stdout);
    free(s->lines);
    free(s);
}

const ptxrun_observer_table *ptxrun_observer(uint32_t version)
{
    static const ptxrun_observer_table table = {
        PTXRUN_OBSERVER_VERSION, PTXRUN_ACCESSES, start, 0, 0, access, end,
    };
    return version == PTXRUN_OBSERVER_VERSION ? &table : 0;
}
