// Divides every row by its length. A row of zeros gives NaNs.
extern "C" __global__ void normalize(const float *in, float *out, int columns)
{
    int row = threadIdx.x;
    float length = 0.0f;
    for (int c = 0; c < columns; c++)
        length += in[row * columns + c] * in[row * columns + c];
    float scale = 1.0f / sqrtf(length);
    for (int c = 0; c < columns; c++)
        out[row * columns + c] = in[row * columns + c] * scale;
}
