/* The host program of a matrix multiplication, as a user would write it: standard headers, standard loader.
   With an argument it writes the program's binary there; with two it reads the binary from the second. */
#define CL_TARGET_OPENCL_VERSION 120
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(call) check((call), #call)
static void check(cl_int code, const char *what) {
    if (code != CL_SUCCESS) {
        fprintf(stderr, "%s: %d\n", what, code);
        exit(1);
    }
}

static const char *source =
    "__kernel void matmul(__global const float *a, __global const float *b, __global float *c, int n,\n"
    "                     __local float *ta, __local float *tb) {\n"
    "    int x = get_local_id(0), y = get_local_id(1), i = get_global_id(0), j = get_global_id(1);\n"
    "    float sum = 0;\n"
    "    for (int t = 0; t < n; t += 16) {\n"
    "        ta[y * 16 + x] = a[j * n + t + x];\n"
    "        tb[y * 16 + x] = b[(t + y) * n + i];\n"
    "        barrier(CLK_LOCAL_MEM_FENCE);\n"
    "        for (int k = 0; k < 16; k++) sum += ta[y * 16 + k] * tb[k * 16 + x];\n"
    "        barrier(CLK_LOCAL_MEM_FENCE);\n"
    "    }\n"
    "    c[j * n + i] = sum;\n"
    "}\n";

enum { N = 128 };
static float a[N * N], b[N * N], c[N * N];

int main(int argc, char **argv) {
    cl_platform_id platform;
    cl_device_id device;
    cl_int code;
    CHECK(clGetPlatformIDs(1, &platform, NULL));
    CHECK(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL));
    cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, &code);
    CHECK(code);
    cl_command_queue queue = clCreateCommandQueue(context, device, CL_QUEUE_PROFILING_ENABLE, &code);
    CHECK(code);
    for (int i = 0; i < N * N; i++) {
        a[i] = (float)(i % 7) - 3;
        b[i] = (float)(i % 5) - 2;
    }
    size_t bytes = sizeof a;
    cl_mem ma = clCreateBuffer(context, CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR, bytes, a, &code);
    CHECK(code);
    cl_mem mb = clCreateBuffer(context, CL_MEM_READ_ONLY, bytes, NULL, &code);
    CHECK(code);
    cl_mem mc = clCreateBuffer(context, CL_MEM_WRITE_ONLY, bytes, NULL, &code);
    CHECK(code);
    CHECK(clEnqueueWriteBuffer(queue, mb, CL_FALSE, 0, bytes, b, 0, NULL, NULL));
    cl_program program;
    if (argc > 2) {
        FILE *file = fopen(argv[2], "rb");
        static unsigned char text[1 << 20];
        const unsigned char *pointer = text;
        size_t size = file ? fread(text, 1, sizeof text, file) : 0;
        program = clCreateProgramWithBinary(context, 1, &device, &size, &pointer, NULL, &code);
    } else {
        program = clCreateProgramWithSource(context, 1, &source, NULL, &code);
    }
    CHECK(code);
    code = clBuildProgram(program, 1, &device, NULL, NULL, NULL);
    if (code != CL_SUCCESS) {
        static char log[1 << 16];
        clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, sizeof log, log, NULL);
        fprintf(stderr, "build: %d\n%s", code, log);
        return 1;
    }
    if (argc == 2) {
        size_t size;
        CHECK(clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, sizeof size, &size, NULL));
        unsigned char *text = malloc(size);
        CHECK(clGetProgramInfo(program, CL_PROGRAM_BINARIES, sizeof text, &text, NULL));
        FILE *file = fopen(argv[1], "wb");
        if (!file || fwrite(text, 1, size, file) != size || fclose(file)) return 1;
        free(text);
    }
    cl_kernel kernel = clCreateKernel(program, "matmul", &code);
    CHECK(code);
    int n = N;
    CHECK(clSetKernelArg(kernel, 0, sizeof ma, &ma));
    CHECK(clSetKernelArg(kernel, 1, sizeof mb, &mb));
    CHECK(clSetKernelArg(kernel, 2, sizeof mc, &mc));
    CHECK(clSetKernelArg(kernel, 3, sizeof n, &n));
    CHECK(clSetKernelArg(kernel, 4, 16 * 16 * sizeof(float), NULL));
    CHECK(clSetKernelArg(kernel, 5, 16 * 16 * sizeof(float), NULL));
    size_t global[2] = {N, N}, local[2] = {16, 16};
    cl_event event;
    CHECK(clEnqueueNDRangeKernel(queue, kernel, 2, NULL, global, local, 0, NULL, &event));
    CHECK(clEnqueueReadBuffer(queue, mc, CL_TRUE, 0, bytes, c, 0, NULL, NULL));
    cl_ulong start, end;
    CHECK(clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_START, sizeof start, &start, NULL));
    CHECK(clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_END, sizeof end, &end, NULL));
    int wrong = 0;
    for (int j = 0; j < N; j++)
        for (int i = 0; i < N; i++) {
            float sum = 0;
            for (int k = 0; k < N; k++) sum += a[j * N + k] * b[k * N + i];
            wrong += sum != c[j * N + i];
        }
    char name[256];
    CHECK(clGetDeviceInfo(device, CL_DEVICE_NAME, sizeof name, name, NULL));
    printf("%s: %d wrong, %s\n", name, wrong, end > start ? "timed" : "not timed");
    if (getenv("SHOW_TIME")) printf("%lu ns\n", (unsigned long)(end - start));
    CHECK(clReleaseEvent(event));
    CHECK(clReleaseKernel(kernel));
    CHECK(clReleaseProgram(program));
    CHECK(clReleaseMemObject(ma));
    CHECK(clReleaseMemObject(mb));
    CHECK(clReleaseMemObject(mc));
    CHECK(clReleaseCommandQueue(queue));
    CHECK(clReleaseContext(context));
    return wrong != 0;
}
