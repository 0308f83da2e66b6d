// Times the loop that a C programmer writes for a kernel that memory limits: `loops CASE SIZE SECONDS`.
//
// CASE and SIZE: of a row of `cases.h` of the class `memory`. Prints what `opencl.c` prints; nothing is built.
#include "data.h"

typedef struct { float x, y, z, mass, vx, vy, vz, charge; } Particle;

// As arguments of the row are: buffers, and numbers.
static union { void *buffer; int word; float number; } values[MOST_ARGS];

static void vecadd(size_t n, const float *restrict a, const float *restrict b, float *restrict c)
{
    for (size_t i = 0; i < n; i++) c[i] = a[i] + b[i];
}

static void saxpy(size_t n, const float *restrict x, float *restrict y, float a)
{
    for (size_t i = 0; i < 4 * n; i++) y[i] = a * x[i] + y[i];
}

static void triad(size_t n, const float *restrict a, const float *restrict b, float *restrict c, float s)
{
    for (size_t i = 0; i < 4 * n; i++) c[i] = b[i] * s + a[i];
}

static void daxpy(size_t n, const double *restrict x, double *restrict y, float a)
{
    for (size_t i = 0; i < n; i++) y[i] = (double)a * x[i] + y[i];
}

static void grid_stride(size_t n, const float *restrict a, float *restrict b)
{
    for (size_t i = 0; i < n; i++) b[i] = a[i] * a[i] + 1;
}

static void structs(size_t n, Particle *restrict p, float step)
{
    for (size_t i = 0; i < n; i++) {
        p[i].x += p[i].vx * step;
        p[i].y += p[i].vy * step;
        p[i].z += p[i].vz * step;
        p[i].vx -= p[i].x * p[i].mass * step;
        p[i].vy -= p[i].y * p[i].mass * step;
        p[i].vz -= p[i].z * p[i].charge * step;
    }
}

static void gather(size_t n, const float *restrict in, const uint32_t *restrict at, float *restrict out, uint32_t mask)
{
    for (size_t i = 0; i < n; i++) out[i] = in[at[i] & mask];
}

static void gray(size_t n, const uint8_t *restrict in, uint8_t *restrict out)
{
    for (size_t i = 0; i < n; i++) out[i] = (in[4 * i] * 77 + in[4 * i + 1] * 150 + in[4 * i + 2] * 29 + 128) >> 8;
}

static uint8_t byte(int x)
{
    return x < 0 ? 0 : x > 255 ? 255 : x;
}

static void yuv(size_t n, const uint8_t *restrict in, uint8_t *restrict out)
{
    for (size_t i = 0; i < 4 * n; i += 4) {
        int r = in[i], g = in[i + 1], b = in[i + 2];
        out[i] = byte(((66 * r + 129 * g + 25 * b + 128) >> 8) + 16);
        out[i + 1] = byte(((-38 * r - 74 * g + 112 * b + 128) >> 8) + 128);
        out[i + 2] = byte(((112 * r - 94 * g - 18 * b + 128) >> 8) + 128);
        out[i + 3] = in[i + 3];
    }
}

static void launch(const struct Case *c)
{
    size_t n = c->global[0];
    void *a = values[0].buffer, *b = values[1].buffer, *d = values[2].buffer;
    if (!strcmp(c->name, "vecadd")) vecadd(n, a, b, d);
    else if (!strcmp(c->name, "saxpy")) saxpy(n, a, b, values[2].number);
    else if (!strcmp(c->name, "triad")) triad(n, a, b, d, values[3].number);
    else if (!strcmp(c->name, "daxpy")) daxpy(n, a, b, values[2].number);
    else if (!strcmp(c->name, "grid_stride")) grid_stride(values[2].word, a, b);
    else if (!strcmp(c->name, "structs")) structs(n, a, values[1].number);
    else if (!strcmp(c->name, "gather")) gather(n, a, b, d, values[3].word);
    else if (!strcmp(c->name, "gray")) gray(n, a, b);
    else if (!strcmp(c->name, "yuv")) yuv(n, a, b);
    else {
        fprintf(stderr, "no loop is there for %s\n", c->name);
        exit(2);
    }
    // What is written is there for somebody.
    __asm__ volatile("" ::: "memory");
}

static void set(unsigned n, size_t size, const void *value)
{
    memcpy(&values[n], value, size);
}

static void finish(void) {}

int main(int argc, char **argv)
{
    if (argc != 4) {
        fprintf(stderr, "usage: loops CASE SIZE SECONDS\n");
        return 2;
    }
    const struct Case a_case = look_up(argv[1], argv[2]), *c = &a_case;
    for (int n = 0; n < MOST_ARGS && c->args[n].kind != END; n++) {
        const struct Arg *arg = &c->args[n];
        switch (arg->kind) {
        case INT: case COUNT: values[n].word = arg->n; break;
        case FLOAT: values[n].number = arg->n / 1000.0f; break;
        default: values[n].buffer = contents(arg, elements(arg) + SLACK);
        }
    }
    double start = now(CLOCK_MONOTONIC);
    int launches = turn(c, set, launch, finish);
    double first = now(CLOCK_MONOTONIC) - start, sum = weighted(c, values[c->result].buffer);
    printf("{\"launches\":%d,\"build_us\":0,\"first_us\":%.1f,\"sum\":%.17g,", launches, first, sum);
    printf("\"platform\":\"%s\",", __VERSION__);
    measure(c, atof(argv[3]), set, launch, finish);
    return 0;
}
