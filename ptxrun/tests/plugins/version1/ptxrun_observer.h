/* Observers of kernels, for `ptxrun observe --plugin FILE.so`. This interface stays as it is; a later one has another
   version. Functions are called on one thread, in the order of execution. What they are given is valid until they
   return. */
#ifndef PTXRUN_OBSERVER_H
#define PTXRUN_OBSERVER_H

#include <stdint.h>

#define PTXRUN_OBSERVER_VERSION 1

/* What a plugin wants to be told. */
#define PTXRUN_INSTRUCTIONS 1
#define PTXRUN_ACCESSES 2

#ifdef __cplusplus
extern "C" {
#endif

typedef struct ptxrun_launch {
    const char *kernel;
    uint32_t grid[3];
    uint32_t block[3];
    uint32_t instructions; /* instructions have numbers below this */
} ptxrun_launch;

typedef struct ptxrun_instruction {
    uint32_t number;
    uint32_t line;        /* in the PTX text */
    uint32_t source_line; /* 0 if unknown */
    const char *opcode;
    const char *text;
    const char *function;
} ptxrun_instruction;

typedef struct ptxrun_warp {
    const ptxrun_instruction *instruction;
    uint32_t block[3];
    uint32_t warp;
    uint32_t lanes;  /* that stand together */
    uint32_t active; /* those whose guard holds */
    /* Reads the 32 lanes of a register, as before the instruction; 0 if there is none of that name. */
    int32_t (*read_register)(const struct ptxrun_warp *, const char *name, uint64_t values[32]);
    const void *context;
} ptxrun_warp;

typedef struct ptxrun_access {
    const ptxrun_instruction *instruction;
    uint32_t block[3];
    uint32_t warp;
    uint32_t lanes;
    uint32_t space;  /* 0 generic, 1 global, 2 shared, 3 local, 4 constant, 5 parameters, 6 others */
    uint32_t action; /* 1 reads, 2 writes, 3 both */
    uint32_t bytes;  /* of a lane */
    const uint64_t *addresses; /* 32; lanes that do not access hold anything */
} ptxrun_access;

typedef struct ptxrun_observer_table {
    uint32_t version; /* PTXRUN_OBSERVER_VERSION */
    uint32_t wants;
    /* A launch begins; what it returns goes to the others. May be null, as may the others. */
    void *(*start)(const ptxrun_launch *);
    /* Whether it wants to be told of an instruction; asked once for each before the first runs. */
    int32_t (*filter)(void *state, const ptxrun_instruction *);
    void (*instruction)(void *state, const ptxrun_warp *);
    void (*access)(void *state, const ptxrun_access *);
    /* The launch has ended; the state is the plugin's to free. */
    void (*end)(void *state);
} ptxrun_observer_table;

/* What a plugin exports. Null if it does not know the version. */
const ptxrun_observer_table *ptxrun_observer(uint32_t version);

#ifdef __cplusplus
}
#endif
#endif
