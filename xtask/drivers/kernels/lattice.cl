// Relaxation of a lattice gas with nine directions, each in a plane of its own.
kernel void lattice(global const float *in, global float *out, int n)
{
    int i = get_global_id(0);
    float f[9], rho = 0, ux = 0, uy = 0;
    const int cx[9] = {0, 1, 0, -1, 0, 1, -1, -1, 1}, cy[9] = {0, 0, 1, 0, -1, 1, 1, -1, -1};
    const float w[9] = {4.f / 9, 1.f / 9, 1.f / 9, 1.f / 9, 1.f / 9, 1.f / 36, 1.f / 36, 1.f / 36, 1.f / 36};
    for (int k = 0; k < 9; k++) {
        f[k] = in[k * n + i];
        rho += f[k];
        ux += f[k] * cx[k];
        uy += f[k] * cy[k];
    }
    ux /= rho;
    uy /= rho;
    float square = 1.5f * (ux * ux + uy * uy);
    for (int k = 0; k < 9; k++) {
        float c = 3.0f * (cx[k] * ux + cy[k] * uy);
        out[k * n + i] = f[k] + 0.6f * (w[k] * rho * (1.0f + c + 0.5f * c * c - square) - f[k]);
    }
}
