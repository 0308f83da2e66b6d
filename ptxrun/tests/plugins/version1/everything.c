/* Written for version 1 of the interface: every function of its table, every field of what they are given. */
#include "ptxrun_observer.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct state { uint32_t instructions, asked, seen, stores, sums; };

static void *start(const ptxrun_launch *launch)
{
    struct state *s = calloc(1, sizeof *s);
    s->instructions = launch->instructions;
    printf("start %s grid %u,%u,%u block %u,%u,%u\n", launch->kernel, launch->grid[0], launch->grid[1], launch->grid[2],
           launch->block[0], launch->block[1], launch->block[2]);
    return s;
}

static int32_t filter(void *p, const ptxrun_instruction *what)
{
    struct state *s = p;
    s->asked++;
    if (what->number >= s->instructions || !what->line || what->source_line)
        printf("wrong: instruction %u, lines %u and %u\n", what->number, what->line, what->source_line);
    return !strcmp(what->opcode, "st.global.f32") && !strcmp(what->function, "walk");
}

static void instruction(void *p, const ptxrun_warp *warp)
{
    struct state *s = p;
    uint64_t values[32];
    s->seen++;
    printf("line %u: %s block %u,%u,%u warp %u lanes %#x active %#x\n", warp->instruction->line, warp->instruction->text,
           warp->block[0], warp->block[1], warp->block[2], warp->warp, warp->lanes, warp->active);
    if (warp->read_register(warp, "%none", values))
        printf("wrong: there is no such register\n");
    if (!warp->read_register(warp, "%r1", values))
        printf("wrong: there is such a register\n");
    for (int lane = 0; lane < 8; lane++)
        s->sums += values[lane];
}

static void access(void *p, const ptxrun_access *a)
{
    struct state *s = p;
    if (a->space != 1 || a->action != 2)
        return;
    s->stores += __builtin_popcount(a->lanes);
    printf("store of %u bytes at line %u, block %u,%u,%u warp %u: %#llx to %#llx\n", a->bytes, a->instruction->line,
           a->block[0], a->block[1], a->block[2], a->warp, (unsigned long long)a->addresses[0],
           (unsigned long long)a->addresses[7]);
}

static void end(void *p)
{
    struct state *s = p;
    printf("end: %s, %u seen, %u lanes store, sum of %%r1 %u\n", s->asked ? "asked" : "not asked", s->seen, s->stores,
           s->sums);
    fflush(stdout);
    free(s);
}

/* RETURNS_ALWAYS: as one that did not read the header's last line. */
const ptxrun_observer_table *ptxrun_observer(uint32_t version)
{
    static const ptxrun_observer_table table = {
        PTXRUN_OBSERVER_VERSION, PTXRUN_INSTRUCTIONS | PTXRUN_ACCESSES, start, filter, instruction, access, end,
    };
#ifdef RETURNS_ALWAYS
    (void)version;
    return &table;
#else
    return version == PTXRUN_OBSERVER_VERSION ? &table : 0;
#endif
}
