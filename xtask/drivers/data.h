// What the host programs share: the table of kernels, the contents of their data, and a sum of the results.
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define K ((size_t)1024)
#define M (K * K)
// Elements behind each buffer, for offsets.
#define SLACK (256 * K)
#define MOST_ARGS 8
#define MOST_RUNS 4096

enum Kind {
    END,
    FLOATS,   // buffer of `n` floats from 0 to 1
    DOUBLES,  // buffer of `n` doubles from 0 to 1
    WORDS,    // buffer of `n` random words
    ZEROS,    // buffer of `n` words
    ROWS,     // `n + 1` places where rows of a sparse matrix begin, 8 to 24 elements each
    COLUMNS,  // columns of its elements, below `n`
    INT,      // the number `n`
    COUNT,    // the number `n`, and the offset
    FLOAT,    // `n` thousandths
    STEP,     // half of one part in `n`
    LOCAL,    // `n` bytes of local memory
    IMAGE,    // picture of `n` by `n` texels, four bytes each
    CANVAS,   // as that, to be written
};

struct Arg {
    enum Kind kind;
    size_t n;
};

// What launches change between them.
enum Series { ONE, BITONIC, MANY };

struct Case {
    // Of the row, and of the kernel and its file.
    const char *name, *file, *class;
    unsigned dimensions;
    size_t global[2], local[2];
    int fixed, result, words;
    enum Series series;
    struct Arg args[MOST_ARGS];
};

#define CASE(name, file, class, small, medium, large, dimensions, gx, gy, lx, ly, fixed, result, words, series, ...) \
    static struct Case case_##name(size_t n)                                                                         \
    {                                                                                                                \
        struct Case c = {#name, #file, #class, dimensions, {gx, gy}, {lx, ly}, fixed, result, words, series,         \
                         {__VA_ARGS__}};                                                                             \
        return c;                                                                                                    \
    }
#include "cases.h"
#undef CASE

static const struct Row {
    const char *name;
    struct Case (*with)(size_t n);
    size_t sizes[3];
} ROWS_OF_TABLE[] = {
#define CASE(name, file, class, small, medium, large, ...) {#name, case_##name, {small, medium, large}},
#include "cases.h"
#undef CASE
};
static const char *const SIZES[3] = {"small", "medium", "large"};

// A line for each row and size: name, file, class, size, whether local memory or the block's size is fixed.
static inline void list(void)
{
    for (size_t i = 0; i < sizeof ROWS_OF_TABLE / sizeof *ROWS_OF_TABLE; i++)
        for (int s = 0; s < 3; s++) {
            const struct Row *row = &ROWS_OF_TABLE[i];
            if (!row->sizes[s]) continue;
            struct Case c = row->with(row->sizes[s]);
            printf("%s %s %s %s %d\n", c.name, c.file, c.class, SIZES[s], c.fixed);
        }
}

// The case of a name and a size; ends the program where there is none.
static struct Case look_up(const char *name, const char *size)
{
    for (size_t i = 0; i < sizeof ROWS_OF_TABLE / sizeof *ROWS_OF_TABLE; i++)
        for (int s = 0; s < 3; s++) {
            const struct Row *row = &ROWS_OF_TABLE[i];
            if (!strcmp(row->name, name) && !strcmp(SIZES[s], size) && row->sizes[s]) return row->with(row->sizes[s]);
        }
    fprintf(stderr, "no case is named %s at the size %s\n", name, size);
    exit(2);
}

// Microseconds.
static double now(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return t.tv_sec * 1e6 + t.tv_nsec * 1e-3;
}

static uint32_t random_word(void)
{
    static uint64_t state = 88172645463325252u;
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state >> 16;
}

static inline char *read_text(const char *folder, const char *name, const char *ending)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s.%s", folder, name, ending);
    FILE *file = fopen(path, "rb");
    if (!file) {
        perror(path);
        exit(1);
    }
    static char text[1 << 20];
    text[fread(text, 1, sizeof text - 1, file)] = 0;
    fclose(file);
    return text;
}

// Words of a buffer's results.
static size_t elements(const struct Arg *arg)
{
    switch (arg->kind) {
    case COLUMNS: return arg->n * 24;
    case ROWS: return arg->n + 1;
    case DOUBLES: return arg->n * 2;
    case CANVAS: return arg->n * arg->n;
    default: return arg->n;
    }
}

// The contents of a buffer of `count` words, to be freed.
static uint32_t *contents(const struct Arg *arg, size_t count)
{
    uint32_t *words = calloc(count, 4), row = 0;
    if (arg->kind == DOUBLES) {
        for (size_t i = 0; i < count / 2; i++) {
            double x = random_word() * 0x1p-32;
            memcpy(words + 2 * i, &x, 8);
        }
        return words;
    }
    for (size_t i = 0; i < count; i++) {
        float x;
        switch (arg->kind) {
        case FLOATS: x = (random_word() >> 8) * 0x1p-24f; memcpy(&words[i], &x, 4); break;
        case IMAGE:
        case WORDS: words[i] = random_word(); break;
        case ROWS: words[i] = row; row += i < arg->n ? 8 + random_word() % 17 : 0; break;
        case COLUMNS: words[i] = random_word() % arg->n; break;
        default: break;
        }
    }
    return words;
}

// A sum that runtimes agree in, up to rounding where it is of floats.
static double weighted(const struct Case *c, const uint32_t *words)
{
    const struct Arg *arg = &c->args[c->result];
    size_t count = elements(arg);
    double sum = 0;
    if (arg->kind == DOUBLES) {
        for (size_t i = 0; i < count / 2; i++) {
            double x;
            memcpy(&x, words + 2 * i, 8);
            sum += x * (1 + i % 7);
        }
        return sum;
    }
    for (size_t i = 0; i < count; i++) {
        float x;
        memcpy(&x, &words[i], 4);
        // Pictures differ in the last bit of a texel.
        sum += (c->words ? arg->kind == CANVAS ? words[i] & 0xff : words[i] : x) * (1 + i % 7);
    }
    return sum;
}

// Everything that is measured as one: a launch, or a series of them, to its end. How many launches it was.
static int turn(const struct Case *c, void (*set)(unsigned, size_t, const void *), void (*launch)(const struct Case *),
                void (*finish)(void))
{
    int launches = 0;
    switch (c->series) {
    case ONE: launch(c); launches = 1; break;
    case MANY:
        for (; launches < 1000; launches++) launch(c);
        break;
    case BITONIC:
        for (unsigned k = 2; k <= c->global[0]; k *= 2)
            for (unsigned j = k / 2; j > 0; j /= 2, launches++) {
                set(1, sizeof j, &j);
                set(2, sizeof k, &k);
                launch(c);
            }
        break;
    }
    finish();
    return launches;
}

// Warm turns, printed as CPU and wall time each.
static void measure(const struct Case *c, double seconds, void (*set)(unsigned, size_t, const void *),
                    void (*launch)(const struct Case *), void (*finish)(void))
{
    // Until code is compiled and pages are there; long ones are not made to wait for that twice.
    double end = now(CLOCK_MONOTONIC) + seconds * 1e6;
    for (int i = 0; i < 2 && (i < 1 || now(CLOCK_MONOTONIC) < end); i++) turn(c, set, launch, finish);
    printf("\"turns\":[");
    end = now(CLOCK_MONOTONIC) + seconds * 1e6;
    for (int i = 0; i < MOST_RUNS && (i < 2 || now(CLOCK_MONOTONIC) < end); i++) {
        double wall = now(CLOCK_MONOTONIC), cpu = now(CLOCK_PROCESS_CPUTIME_ID);
        turn(c, set, launch, finish);
        cpu = now(CLOCK_PROCESS_CPUTIME_ID) - cpu;
        wall = now(CLOCK_MONOTONIC) - wall;
        printf("%s[%.1f,%.1f]", i ? "," : "", cpu, wall);
    }
    printf("]}\n");
}
