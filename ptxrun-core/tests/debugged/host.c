/* An OpenCL program as one writes it: it builds two kernels with -g, runs them one behind the other, and prints what
   came out. */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <stdio.h>
#include <stdlib.h>

static const char *text =
    "kernel void square(global int *a, int n)\n"
    "{\n"
    "    int i = get_global_id(0);\n"
    "    int was = a[i];\n"
    "    if (i < n)\n"
    "        a[i] = was * was;\n"
    "}\n"
    "kernel void running(global const int *a, global int *sums)\n"
    "{\n"
    "    int i = get_global_id(0), sum = 0;\n"
    "    for (int k = 0; k <= i; k++)\n"
    "        sum += a[k];\n"
    "    sums[i] = sum;\n"
    "}\n";

static void must(cl_int code, const char *what)
{
    if (code == CL_SUCCESS)
        return;
    printf("program: %s gave %d\n", what, code);
    exit(3);
}

int main(void)
{
    enum { N = 8 };
    cl_platform_id platform;
    cl_device_id device;
    cl_int code, numbers[N], sums[N];
    size_t items = N;
    cl_int n = N - 1;
    for (int i = 0; i < N; i++)
        numbers[i] = i;
    must(clGetPlatformIDs(1, &platform, NULL), "clGetPlatformIDs");
    must(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL), "clGetDeviceIDs");
    cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, &code);
    must(code, "clCreateContext");
    cl_command_queue queue = clCreateCommandQueue(context, device, 0, &code);
    must(code, "clCreateCommandQueue");
    cl_program program = clCreateProgramWithSource(context, 1, &text, NULL, &code);
    must(code, "clCreateProgramWithSource");
    must(clBuildProgram(program, 1, &device, "-g", NULL, NULL), "clBuildProgram");
    cl_kernel square = clCreateKernel(program, "square", &code);
    must(code, "clCreateKernel");
    cl_kernel running = clCreateKernel(program, "running", &code);
    must(code, "clCreateKernel");
    cl_mem a = clCreateBuffer(context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, sizeof numbers, numbers, &code);
    must(code, "clCreateBuffer");
    cl_mem b = clCreateBuffer(context, CL_MEM_WRITE_ONLY, sizeof sums, NULL, &code);
    must(code, "clCreateBuffer");
    must(clSetKernelArg(square, 0, sizeof a, &a), "clSetKernelArg");
    must(clSetKernelArg(square, 1, sizeof n, &n), "clSetKernelArg");
    must(clSetKernelArg(running, 0, sizeof a, &a), "clSetKernelArg");
    must(clSetKernelArg(running, 1, sizeof b, &b), "clSetKernelArg");
    must(clEnqueueNDRangeKernel(queue, square, 1, NULL, &items, NULL, 0, NULL, NULL), "square");
    must(clEnqueueNDRangeKernel(queue, running, 1, NULL, &items, NULL, 0, NULL, NULL), "running");
    code = clEnqueueReadBuffer(queue, b, CL_TRUE, 0, sizeof sums, sums, 0, NULL, NULL);
    must(code, "clEnqueueReadBuffer");
    printf("program:");
    for (int i = 0; i < N; i++)
        printf(" %d", sums[i]);
    printf("\n");
    clReleaseMemObject(b);
    clReleaseMemObject(a);
    clReleaseKernel(running);
    clReleaseKernel(square);
    clReleaseProgram(program);
    clReleaseCommandQueue(queue);
    clReleaseContext(context);
    return 0;
}
