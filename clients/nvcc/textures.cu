// Texture and surface objects over arrays and linear memory.
#include <vector>
#include "check.h"

__global__ void sample(cudaTextureObject_t texture, float *out, int width, int height) {
    int x = threadIdx.x, y = blockIdx.x;
    if (x < width) out[y * width + x] = tex2D<float>(texture, (x + 1.0f) / width, (y + 0.5f) / height);
}
__global__ void fetch(cudaTextureObject_t texture, int *out, int n) {
    int i = threadIdx.x;
    if (i < n) out[i] = tex1Dfetch<int>(texture, n - 1 - i);
}
__global__ void paint(cudaSurfaceObject_t surface) {
    surf2Dwrite<float>(threadIdx.x * 10.0f + threadIdx.y, surface, threadIdx.x * sizeof(float), threadIdx.y);
}

int main() {
    const int width = 16, height = 8;
    std::vector<float> image(width * height), result(width * height);
    for (size_t i = 0; i < image.size(); i++) image[i] = 4.0f * i;
    cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
    cudaArray_t array;
    CUDA(cudaMallocArray(&array, &format, width, height, cudaArraySurfaceLoadStore));
    CUDA(cudaMemcpy2DToArray(array, 0, 0, image.data(), width * 4, width * 4, height, cudaMemcpyHostToDevice));
    cudaResourceDesc resource = {};
    resource.resType = cudaResourceTypeArray;
    resource.res.array.array = array;
    cudaTextureDesc description = {};
    description.addressMode[0] = description.addressMode[1] = cudaAddressModeClamp;
    description.filterMode = cudaFilterModeLinear;
    description.readMode = cudaReadModeElementType;
    description.normalizedCoords = 1;
    cudaTextureObject_t texture;
    CUDA(cudaCreateTextureObject(&texture, &resource, &description, nullptr));
    float *out;
    CUDA(cudaMalloc(&out, image.size() * 4));
    sample<<<height, 32>>>(texture, out, width, height);
    CUDA(cudaGetLastError());
    CUDA(cudaMemcpy(result.data(), out, image.size() * 4, cudaMemcpyDeviceToHost));
    for (int y = 0; y < height; y++)
        for (int x = 0; x < width; x++) {
            float right = image[y * width + (x + 1 < width ? x + 1 : x)];
            EXPECT(result[y * width + x] == (image[y * width + x] + right) / 2);
        }
    CUDA(cudaDestroyTextureObject(texture));

    std::vector<int> numbers(20), turned(20);
    for (int i = 0; i < 20; i++) numbers[i] = i * i;
    int *linear, *target;
    CUDA(cudaMalloc(&linear, 80));
    CUDA(cudaMalloc(&target, 80));
    CUDA(cudaMemcpy(linear, numbers.data(), 80, cudaMemcpyHostToDevice));
    resource = {};
    resource.resType = cudaResourceTypeLinear;
    resource.res.linear.devPtr = linear;
    resource.res.linear.desc = cudaCreateChannelDesc<int>();
    resource.res.linear.sizeInBytes = 80;
    description = {};
    CUDA(cudaCreateTextureObject(&texture, &resource, &description, nullptr));
    fetch<<<1, 32>>>(texture, target, 20);
    CUDA(cudaMemcpy(turned.data(), target, 80, cudaMemcpyDeviceToHost));
    for (int i = 0; i < 20; i++) EXPECT(turned[i] == numbers[19 - i]);
    CUDA(cudaDestroyTextureObject(texture));

    resource = {};
    resource.resType = cudaResourceTypeArray;
    resource.res.array.array = array;
    cudaSurfaceObject_t surface;
    CUDA(cudaCreateSurfaceObject(&surface, &resource));
    paint<<<1, dim3(width, height)>>>(surface);
    CUDA(cudaMemcpy2DFromArray(result.data(), width * 4, array, 0, 0, width * 4, height, cudaMemcpyDeviceToHost));
    for (int y = 0; y < height; y++)
        for (int x = 0; x < width; x++) EXPECT(result[y * width + x] == x * 10.0f + y);
    CUDA(cudaDestroySurfaceObject(surface));
    CUDA(cudaFreeArray(array));
    CUDA(cudaFree(out));
    std::printf("textures: ok\n");
}
