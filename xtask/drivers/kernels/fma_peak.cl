kernel void fma_peak(global float *data)
{
    size_t i = get_global_id(0);
    float a = data[i], b = a + 1, c = a + 2, d = a + 3;
    for (int n = 0; n < 512; n++) {
        a = fma(a, 0.999f, 0.5f);
        b = fma(b, 0.998f, 0.5f);
        c = fma(c, 0.997f, 0.5f);
        d = fma(d, 0.996f, 0.5f);
    }
    data[i] = a + b + c + d;
}
