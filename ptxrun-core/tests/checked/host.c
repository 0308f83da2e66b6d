// An OpenCL program: `host KERNELS.cl KERNEL OPTIONS` runs a kernel over 192 floats. It ignores errors of its kernels, as
// careless programs do, and ends with 5 where it was told to.
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <stdio.h>
#include <stdlib.h>

static void must(cl_int code, const char *what)
{
    if (code != CL_SUCCESS) {
        fprintf(stderr, "host: %s gave %d\n", what, code);
        exit(9);
    }
}

int main(int count, char **words)
{
    if (count < 4)
        return 9;
    FILE *file = fopen(words[1], "r");
    static char text[1 << 14];
    if (!file)
        return 9;
    size_t bytes = fread(text, 1, sizeof text - 1, file);
    fclose(file);
    text[bytes] = 0;

    cl_int code;
    cl_platform_id platform;
    cl_device_id device;
    must(clGetPlatformIDs(1, &platform, NULL), "clGetPlatformIDs");
    must(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL), "clGetDeviceIDs");
    cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, &code);
    must(code, "clCreateContext");
    cl_command_queue queue = clCreateCommandQueue(context, device, 0, &code);
    must(code, "clCreateCommandQueue");
    const char *source = text;
    cl_program program = clCreateProgramWithSource(context, 1, &source, NULL, &code);
    must(code, "clCreateProgramWithSource");
    must(clBuildProgram(program, 1, &device, words[3], NULL, NULL), "clBuildProgram");
    cl_kernel kernel = clCreateKernel(program, words[2], &code);
    must(code, "clCreateKernel");

    float data[192];
    for (int i = 0; i < 192; i++)
        data[i] = i;
    cl_mem in = clCreateBuffer(context, CL_MEM_COPY_HOST_PTR, sizeof data, data, &code);
    must(code, "clCreateBuffer");
    cl_mem out = clCreateBuffer(context, 0, sizeof data, NULL, &code);
    must(code, "clCreateBuffer");
    must(clSetKernelArg(kernel, 0, sizeof in, &in), "clSetKernelArg");
    must(clSetKernelArg(kernel, 1, sizeof out, &out), "clSetKernelArg");
    size_t global = 192, local = 64;
    cl_int ran = clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &global, &local, 0, NULL, NULL);
    cl_int finished = clFinish(queue);
    cl_int read = clEnqueueReadBuffer(queue, out, CL_TRUE, 0, sizeof data, data, 0, NULL, NULL);
    printf("host: %d %d %d, %g\n", ran, finished, read, data[0]);
    clReleaseMemObject(in);
    clReleaseMemObject(out);
    clReleaseKernel(kernel);
    clReleaseProgram(program);
    clReleaseCommandQueue(queue);
    clReleaseContext(context);
    return count > 4 ? atoi(words[4]) : 0;
}
