/* Builds and runs a kernel; prints the codes and a result. */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <stdio.h>

int main(void) {
    cl_platform_id platform;
    cl_device_id device;
    cl_int code;
    const char *source = "kernel void k(global int *a) { a[get_global_id(0)] = get_global_id(0) * 3; }";
    clGetPlatformIDs(1, &platform, NULL);
    clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL);
    cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, &code);
    printf("context %d\n", code);
    cl_command_queue queue = clCreateCommandQueue(context, device, 0, &code);
    cl_program program = clCreateProgramWithSource(context, 1, &source, NULL, &code);
    printf("build %d\n", clBuildProgram(program, 0, NULL, NULL, NULL, NULL));
    cl_kernel kernel = clCreateKernel(program, "k", &code);
    cl_mem buffer = clCreateBuffer(context, 0, 4 << 20, NULL, &code);
    printf("buffer %d\n", code);
    clSetKernelArg(kernel, 0, sizeof buffer, &buffer);
    size_t items = 1 << 20;
    int last = 0;
    clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &items, NULL, 0, NULL, NULL);
    code = clEnqueueReadBuffer(queue, buffer, CL_TRUE, 4 * (items - 1), 4, &last, 0, NULL, NULL);
    printf("read %d %d\n", code, last);
    return 0;
}
