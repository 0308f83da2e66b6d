/* Values of the register that PTXRUN_REGISTER names, before every instruction that names it: least, greatest, and whether
   all lanes have the same. */
#include "ptxrun_observer.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct state { const char *name; uint64_t least, most, issues, same; };

static void *start(const ptxrun_launch *launch)
{
    struct state *s = calloc(1, sizeof(struct state));
    (void)launch;
    s->name = getenv("PTXRUN_REGISTER");
    s->least = ~0ull;
    return s;
}

static int32_t filter(void *p, const ptxrun_instruction *what)
{
    struct state *s = p;
    return s->name && strstr(what->text, s->name);
}

static void instruction(void *p, const ptxrun_warp *warp)
{
    struct state *s = p;
    uint64_t v[32];
    int first = -1, same = 1;
    if (!warp->active || !warp->read_register(warp, s->name, v))
        return;
    for (int lane = 0; lane < 32; lane++) {
        if (!(warp->active >> lane & 1))
            continue;
        if (first < 0)
            first = lane;
        same &= v[lane] == v[first];
        s->least = v[lane] < s->least ? v[lane] : s->least;
        s->most = v[lane] > s->most ? v[lane] : s->most;
    }
    s->issues++;
    s->same += same;
}

static void end(void *p)
{
    struct state *s = p;
    if (s->issues)
        printf("%s: %llu to %llu in %llu issues, the same in all lanes of %llu\n", s->name,
               (unsigned long long)s->least, (unsigned long long)s->most,
               (unsigned long long)s->issues, (unsigned long long)s->same);
    fflush(stdout);
    free(s);
}

const ptxrun_observer_table *ptxrun_observer(uint32_t version)
{
    static const ptxrun_observer_table table = {
        PTXRUN_OBSERVER_VERSION, PTXRUN_INSTRUCTIONS, start, filter, instruction, 0, end,
    };
    return version == PTXRUN_OBSERVER_VERSION ? &table : 0;
}
