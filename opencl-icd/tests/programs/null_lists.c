/* Queries whose list is null although a length is given: the number is answered and nothing is written. */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <stdio.h>

static void show(const char *what, cl_int code, size_t count) {
    printf("%s %d %d\n", what, code, count > 0);
}

int main(void) {
    cl_platform_id platform;
    cl_device_id devices[2];
    cl_uint count = 0;
    cl_int code;
    size_t size = 0;
    const char *source = "kernel void a(global int *x) { x[0] = 1; } kernel void b(global int *x) { x[0] = 2; }";
    clGetPlatformIDs(1, &platform, NULL);
    code = clGetPlatformIDs(5, NULL, &count);
    show("clGetPlatformIDs", code, count);
    count = 0;
    code = clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 5, NULL, &count);
    show("clGetDeviceIDs", code, count);
    clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 2, devices, NULL);
    cl_context context = clCreateContext(NULL, 2, devices, NULL, NULL, &code);
    count = 0;
    code = clGetSupportedImageFormats(context, CL_MEM_READ_ONLY, CL_MEM_OBJECT_IMAGE2D, 5000, NULL, &count);
    show("clGetSupportedImageFormats", code, count);
    cl_program program = clCreateProgramWithSource(context, 1, &source, NULL, &code);
    show("clBuildProgram", clBuildProgram(program, 0, NULL, NULL, NULL, NULL), 1);
    count = 0;
    code = clCreateKernelsInProgram(program, 5, NULL, &count);
    show("clCreateKernelsInProgram", code, count);
    unsigned char *binaries[2] = {NULL, NULL};
    code = clGetProgramInfo(program, CL_PROGRAM_BINARIES, sizeof binaries, binaries, &size);
    show("CL_PROGRAM_BINARIES", code, size);
    size = 0;
    code = clGetDeviceInfo(devices[0], CL_DEVICE_NAME, 100, NULL, &size);
    show("CL_DEVICE_NAME", code, size);
    return 0;
}
