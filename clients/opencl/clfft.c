/* clFFT (Debian: libclfft-dev) beside a plain discrete Fourier transform in double precision: lengths of all its
   factors, one to three dimensions, batches, real input, both precisions, both ways, in place and not.
   cc clients/opencl/clfft.c -o clfft -lclFFT -lOpenCL -lm && ptxrun exec -- ./clfft */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <clFFT.h>
#include <complex.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static cl_context context;
static cl_command_queue queue;
static int passed, total;

/* Transforms along one dimension of `n` elements `step` apart. */
static void line(double complex *x, size_t n, size_t step, int sign) {
    double complex *out = malloc(n * sizeof *out);
    for (size_t k = 0; k < n; k++) {
        out[k] = 0;
        for (size_t i = 0; i < n; i++) out[k] += x[i * step] * cexp(sign * 2 * M_PI * I * (double)(i * k % n) / n);
    }
    for (size_t k = 0; k < n; k++) x[k * step] = out[k];
    free(out);
}

static void reference(double complex *x, const size_t *n, int sign) {
    for (size_t z = 0; z < n[2]; z++)
        for (size_t y = 0; y < n[1]; y++) line(x + (z * n[1] + y) * n[0], n[0], 1, sign);
    for (size_t z = 0; z < n[2]; z++)
        for (size_t a = 0; a < n[0] && n[1] > 1; a++) line(x + z * n[1] * n[0] + a, n[1], n[0], sign);
    for (size_t a = 0; a < n[0] * n[1] && n[2] > 1; a++) line(x + a, n[2], n[0] * n[1], sign);
}

static void put(void *to, size_t i, double x, int is_double) {
    if (is_double) ((double *)to)[i] = x;
    else ((float *)to)[i] = (float)x;
}

static double get(const void *from, size_t i, int is_double) {
    return is_double ? ((const double *)from)[i] : ((const float *)from)[i];
}

enum { FORWARD, INVERSE, REAL };

static void transform(clfftDim dim, const size_t *n, size_t batch, int is_double, int kind, int in_place) {
    size_t items = n[0] * n[1] * n[2], all = items * batch, word = is_double ? 8 : 4;
    size_t half = n[0] / 2 + 1, outputs = kind == REAL ? half * n[1] * n[2] * batch : all;
    double complex *x = malloc(all * sizeof *x);
    char *in = calloc(all * 2, word), *out = calloc(all * 2 + 64, word);
    unsigned seed = (unsigned)(items + batch);
    for (size_t i = 0; i < all; i++) {
        seed = seed * 1664525u + 1013904223u;
        double re = (seed >> 8) / 8388608.0 - 1, im = kind == REAL ? 0 : (seed & 255) / 128.0 - 1;
        x[i] = re + im * I;
        if (kind == REAL) put(in, i, re, is_double);
        else put(in, 2 * i, re, is_double), put(in, 2 * i + 1, im, is_double);
        x[i] = kind == REAL ? get(in, i, is_double) : get(in, 2 * i, is_double) + get(in, 2 * i + 1, is_double) * I;
    }
    cl_int e;
    cl_mem from = clCreateBuffer(context, CL_MEM_COPY_HOST_PTR, all * 2 * word, in, &e);
    cl_mem to = in_place ? from : clCreateBuffer(context, 0, outputs * 2 * word, NULL, &e);
    clfftPlanHandle plan;
    size_t lengths[3] = {n[0], n[1], n[2]};
    e = clfftCreateDefaultPlan(&plan, context, dim, lengths);
    clfftSetPlanPrecision(plan, is_double ? CLFFT_DOUBLE : CLFFT_SINGLE);
    clfftSetLayout(plan, kind == REAL ? CLFFT_REAL : CLFFT_COMPLEX_INTERLEAVED,
        kind == REAL ? CLFFT_HERMITIAN_INTERLEAVED : CLFFT_COMPLEX_INTERLEAVED);
    clfftSetResultLocation(plan, in_place ? CLFFT_INPLACE : CLFFT_OUTOFPLACE);
    clfftSetPlanBatchSize(plan, batch);
    clfftSetPlanDistance(plan, items, kind == REAL ? half * n[1] * n[2] : items);
    if (kind == REAL) {
        size_t strides[3] = {1, half, half * n[1]};
        clfftSetPlanOutStride(plan, dim, strides);
    }
    if (!e) e = clfftBakePlan(plan, 1, &queue, NULL, NULL);
    if (!e)
        e = clfftEnqueueTransform(plan, kind == INVERSE ? CLFFT_BACKWARD : CLFFT_FORWARD, 1, &queue, 0, NULL, NULL, &from,
            in_place ? NULL : &to, NULL);
    if (!e) e = clFinish(queue);
    if (!e) e = clEnqueueReadBuffer(queue, to, 1, 0, outputs * 2 * word, out, 0, NULL, NULL);
    double error = 0, size = 0, scale = kind == INVERSE ? 1.0 / items : 1;
    for (size_t b = 0; b < batch; b++) reference(x + b * items, n, kind == INVERSE ? 1 : -1);
    for (size_t o = 0; o < outputs; o++) {
        size_t i = kind == REAL ? o / half * n[0] + o % half : o;
        double complex want = x[i] * scale, got = get(out, 2 * o, is_double) + get(out, 2 * o + 1, is_double) * I;
        error += creal((want - got) * conj(want - got)), size += creal(want * conj(want));
    }
    double relative = sqrt(error / size);
    int right = !e && relative < (is_double ? 1e-13 : 1e-5);
    total++, passed += right;
    if (!right)
        printf("%zux%zux%zu, batch %zu, %s, %s, %s: code %d, error %g\n", n[0], n[1], n[2], batch,
            is_double ? "double" : "single", kind == REAL ? "real" : kind == INVERSE ? "inverse" : "forward",
            in_place ? "in place" : "elsewhere", e, relative);
    clfftDestroyPlan(&plan);
    clReleaseMemObject(from);
    if (!in_place) clReleaseMemObject(to);
    free(x), free(in), free(out);
}

int main(void) {
    cl_platform_id platform;
    cl_device_id device;
    cl_int e;
    clGetPlatformIDs(1, &platform, NULL);
    if (clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL)) return 1;
    context = clCreateContext(NULL, 1, &device, NULL, NULL, &e);
    queue = clCreateCommandQueue(context, device, 0, &e);
    clfftSetupData setup;
    clfftInitSetupData(&setup);
    clfftSetup(&setup);
    size_t lengths[] = {2, 3, 4, 5, 7, 8, 9, 11, 13, 16, 25, 30, 49, 64, 77, 100, 121, 128, 169, 210, 256, 486, 512, 1000,
        1024, 2048, 2187, 4096};
    size_t shapes[][3] = {{4, 4, 1}, {8, 16, 1}, {12, 10, 1}, {32, 32, 1}, {49, 13, 1}, {64, 128, 1}, {4, 4, 4}, {8, 6, 10},
        {16, 16, 16}, {32, 9, 7}};
    for (int is_double = 0; is_double < 2; is_double++)
        for (int kind = 0; kind < 3; kind++)
            for (int in_place = 0; in_place < (kind == REAL ? 1 : 2); in_place++) {
                for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
                    size_t n[3] = {lengths[i], 1, 1};
                    transform(CLFFT_1D, n, i % 3 + 1, is_double, kind, in_place);
                }
                for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
                    transform(shapes[i][2] > 1 ? CLFFT_3D : CLFFT_2D, shapes[i], 1, is_double, kind, in_place);
            }
    clfftTeardown();
    printf("%d of %d transforms pass\n", passed, total);
    return passed != total;
}
