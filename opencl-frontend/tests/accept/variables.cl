// options: -g
typedef struct { float x; int tag[2]; } Part;
float half_of(float v) { return v * 0.5f; }
__kernel void variables(__global float *x, int n)
{
    int i = get_global_id(0);
    Part p = { x[i], { i, n } };
    for (int i = 0; i < n; i++) {
        float2 both = (float2)(p.x, half_of(p.x));
        x[i] += both.y;
    }
}
